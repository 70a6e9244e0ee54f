import { formatBytes, formatMinute } from '../../texts/format.ts'
import { texts } from '../../texts/viewers.ts'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { KindIcon } from '../../ui/kind-icon.tsx'
import { kindOf } from '../kinds.ts'
import { Facts } from './facts.tsx'
import type { ViewedFile } from './viewer.ts'

/** Shows what is known about a file that no viewer shows. */
export function FileCard({
  file: { name, mimeType, size, modifiedAt },
  note = texts.noPreview,
  onDownload,
}: {
  file: Pick<ViewedFile, 'name' | 'mimeType' | 'size' | 'modifiedAt'>
  /** Why the content is not shown. */
  note?: string
  onDownload: () => void
}) {
  const facts: [string, string | null][] = [
    [texts.type, mimeType],
    [texts.size, size === null ? null : formatBytes(size)],
    [texts.modified, modifiedAt && formatMinute(modifiedAt)],
  ]
  return (
    <section className="file-card" aria-label={name}>
      <KindIcon kind={kindOf({ __typename: 'File', name, mimeType })} />
      <p className="file-card-name">{name}</p>
      <p className="help">{note}</p>
      <Facts facts={facts} />
      <Button variant="primary" onPress={onDownload}>
        <Icon name="download" />
        {texts.download}
      </Button>
    </section>
  )
}
