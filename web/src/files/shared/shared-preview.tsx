import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Media } from '../preview/media.tsx'

export type MediaKind = 'image' | 'video' | 'audio'

/** Shows an image, a video or a sound of a share. */
export function SharedPreview({
  kind,
  name,
  url,
  onDownload,
  onClose,
}: {
  kind: MediaKind
  name: string
  url: string
  onDownload: () => void
  onClose: () => void
}) {
  return (
    <Dialog title={name} onClose={onClose} size="large">
      <div className="shared-media">
        <Media kind={kind} link={url} name={name} />
      </div>
      <div className="dialog-actions">
        <Button onPress={onDownload}>
          <Icon name="download" />
          {texts.download}
        </Button>
        <Button variant="primary" onPress={onClose}>
          {common.close}
        </Button>
      </div>
    </Dialog>
  )
}
