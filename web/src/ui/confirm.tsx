import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { common } from '../texts/common.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorBox } from './error-box.tsx'

/** Asks before an action that cannot be undone. The dialog stays open until `onConfirm` succeeds, and shows its error. */
export function Confirm({
  title,
  children,
  action,
  onConfirm,
  onClose,
}: {
  title: string
  children: ReactNode
  /** The label of the button that confirms. */
  action: string
  onConfirm: () => Promise<unknown>
  onClose: () => void
}) {
  const confirm = useMutation({ mutationFn: onConfirm, onSuccess: onClose })
  return (
    <Dialog title={title} onClose={onClose} isBusy={confirm.isPending} role="alertdialog">
      {children}
      {confirm.error && <ErrorBox error={confirm.error} />}
      <div className="dialog-actions">
        <Button onPress={onClose} isDisabled={confirm.isPending} autoFocus>
          {common.cancel}
        </Button>
        <Button variant="danger" onPress={() => confirm.mutate()} isPending={confirm.isPending}>
          {action}
        </Button>
      </div>
    </Dialog>
  )
}
