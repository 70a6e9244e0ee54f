import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'

/** Shows a signing secret. Only its button closes this dialog, because the secret cannot be shown again. */
export function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog title="Copy the secret now" onClose={onClose} isBusy size="large">
      <p>
        The receiver verifies the signature of each message with it. It is shown only once. Libraries of “Standard
        Webhooks” take it as it is.
      </p>
      <code className="secret">{secret}</code>
      <div className="dialog-actions">
        <CopyButton text={secret} label="Copy secret" />
        <Button variant="primary" onPress={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  )
}
