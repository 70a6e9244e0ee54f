import { type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorBox } from './error-box.tsx'

/** Asks before something that cannot be undone; `act` is waited for, and its failure shown here. */
export function Confirm({
  title,
  children,
  action,
  act,
  onClose,
}: {
  title: string
  children: ReactNode
  /** On the button: what it does. */
  action: string
  act: () => Promise<unknown>
  onClose: () => void
}) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const go = async () => {
    setBusy(true)
    setError(null)
    try {
      await act()
      onClose()
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose} isBusy={busy} role="alertdialog">
      {children}
      {error !== null && <ErrorBox error={error} />}
      <div className="dialog-actions">
        <Button onPress={onClose} isDisabled={busy} autoFocus>
          Cancel
        </Button>
        <Button variant="danger" onPress={go} isPending={busy}>
          {action}
        </Button>
      </div>
    </Dialog>
  )
}
