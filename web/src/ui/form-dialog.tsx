import type { ReactNode } from 'react'
import { Form } from 'react-aria-components'
import { common } from '../texts/common.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorBox } from './error-box.tsx'

/** A dialog with a form. It stays open until `submit` succeeds, and shows its error. */
export function FormDialog({
  title,
  size = 'small',
  action,
  pendingAction = action,
  submit,
  isValid = true,
  problems = {},
  onClose,
  children,
}: {
  title: string
  size?: 'small' | 'large'
  /** The label of the button that submits. */
  action: string
  /** The label of that button while `submit` is pending. */
  pendingAction?: string
  /** A mutation that sends the form. */
  submit: { mutate: () => void; isPending: boolean; error: Error | null }
  isValid?: boolean
  /** Error messages from the server, by the name of the field. */
  problems?: Record<string, string>
  onClose: () => void
  children: ReactNode
}) {
  return (
    <Dialog title={title} onClose={onClose} isBusy={submit.isPending} size={size}>
      <Form
        validationErrors={problems}
        onSubmit={event => {
          event.preventDefault()
          submit.mutate()
        }}
      >
        {children}
        {submit.error && <ErrorBox error={submit.error} />}
        <div className="dialog-actions">
          <Button onPress={onClose} isDisabled={submit.isPending}>
            {common.cancel}
          </Button>
          <Button type="submit" variant="primary" isPending={submit.isPending} isDisabled={!isValid}>
            {submit.isPending ? pendingAction : action}
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}
