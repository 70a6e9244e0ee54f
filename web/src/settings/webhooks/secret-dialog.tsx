import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'

/** Shows a signing secret. Only its button closes this dialog, because the secret cannot be shown again. */
export function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog title={texts.copySecretNow} onClose={onClose} isBusy size="large">
      <p>{texts.secretHelp}</p>
      <code className="secret">{secret}</code>
      <div className="dialog-actions">
        <CopyButton text={secret} label={texts.copySecret} />
        <Button variant="primary" onPress={onClose}>
          {common.done}
        </Button>
      </div>
    </Dialog>
  )
}
