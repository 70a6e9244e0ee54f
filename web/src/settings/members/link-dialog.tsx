import type { ReactNode } from 'react'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Time } from '../../ui/time.tsx'

/** Shows a link once. The server sends no mail, so the administrator passes the link on. */
export function LinkDialog({
  link,
  expiresAt,
  help,
  onClose,
}: {
  link: string
  expiresAt: string
  help: (expiry: ReactNode) => ReactNode
  onClose: () => void
}) {
  return (
    <Dialog title={texts.sendLink} onClose={onClose} isBusy>
      <p>{help(<Time at={expiresAt} />)}</p>
      <code className="secret" data-testid="link">
        {link}
      </code>
      <div className="dialog-actions">
        <CopyButton text={link} label={texts.copyLink} />
        <Button variant="primary" onPress={onClose}>
          {common.done}
        </Button>
      </div>
    </Dialog>
  )
}
