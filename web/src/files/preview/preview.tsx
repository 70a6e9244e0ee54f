import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useMemo } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Loading } from '../../ui/loading.tsx'
import { Icon } from '../icons.tsx'
import { type Entry, fileLink, type Place } from '../operations.ts'
import { childPath } from '../paths.ts'
import { previewKind } from './kinds.ts'
import { Media } from './media.tsx'
import { PdfView } from './pdf.tsx'
import { TextView } from './text.tsx'

/** Seconds: long enough for a film that is stopped and gone on with. */
const linkLifetime = 6 * 60 * 60

/** A file over the whole page; the arrows go to the one before and the one after it. */
export function Preview({
  folder,
  entry,
  entries,
  onShow,
  onDownload,
  onClose,
}: {
  folder: Place
  entry: Entry
  entries: readonly Entry[]
  onShow: (name: string) => void
  onDownload: (entry: Entry) => void
  onClose: () => void
}) {
  const { providerId } = folder
  const path = childPath(folder.path, entry.name)
  const {
    data: link,
    error,
    refetch,
  } = useQuery({
    queryKey: ['link', providerId, path, entry.modifiedAt],
    queryFn: ({ signal }) => fileLink({ providerId, path }, { inline: true, expiresIn: linkLifetime }, signal),
    staleTime: (linkLifetime * 1000) / 2,
  })
  const shown = useMemo(() => entries.filter(entry => previewKind(entry) !== null), [entries])
  const at = shown.findIndex(({ name }) => name === entry.name)
  const before = shown[at - 1]
  const after = at < 0 ? undefined : shown[at + 1]
  const onKeyDown = ({ key, target }: KeyboardEvent) => {
    // Arrows in players seek, in texts they scroll sideways.
    if (target instanceof HTMLMediaElement || (target instanceof HTMLElement && target.tagName === 'PRE')) return
    if (key === 'ArrowLeft' && before) onShow(before.name)
    if (key === 'ArrowRight' && after) onShow(after.name)
  }
  return (
    <ModalOverlay
      isOpen
      isDismissable
      className="overlay preview-overlay"
      onOpenChange={isOpen => {
        if (!isOpen) onClose()
      }}
    >
      <Modal className="preview">
        <Dialog className="preview-dialog">
          {/* biome-ignore lint/a11y/noStaticElementInteractions: keys beside the buttons */}
          <div className="preview-frame" onKeyDown={onKeyDown}>
            <div className="preview-head">
              <Heading slot="title">{entry.name}</Heading>
              <span className="aside-text">
                {entry.__typename === 'File' && entry.size !== null && formatBytes(entry.size)}
              </span>
              <Button
                variant="quiet"
                aria-label="Previous file"
                isDisabled={!before}
                onPress={() => before && onShow(before.name)}
              >
                <Icon name="left" />
              </Button>
              <Button
                variant="quiet"
                aria-label="Next file"
                isDisabled={!after}
                onPress={() => after && onShow(after.name)}
              >
                <Icon name="right" />
              </Button>
              <Button variant="quiet" aria-label="Download" onPress={() => onDownload(entry)}>
                <Icon name="download" />
              </Button>
              <Button variant="quiet" aria-label="Close" autoFocus onPress={onClose}>
                <Icon name="cross" />
              </Button>
            </div>
            <div className="preview-body">
              {error && <ErrorBox error={error} retry={refetch} />}
              {!link && !error && <Loading label="Opening" />}
              {link && <View key={link} entry={entry} link={link} />}
            </div>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function View({ entry, link }: { entry: Entry; link: string }) {
  const kind = previewKind(entry)
  const size = entry.__typename === 'File' ? entry.size : null
  if (kind === 'text') return <TextView link={link} />
  if (kind === 'pdf') return <PdfView link={link} name={entry.name} size={size} />
  if (kind) return <Media kind={kind} link={link} name={entry.name} />
  return <p>There is no preview of this kind of file: download it.</p>
}
