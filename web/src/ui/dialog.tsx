import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Dialog as AriaDialog, Form, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { common } from '../texts/common.ts'
import { Button } from './button.tsx'
import { ErrorBox } from './error-box.tsx'
import { submitting, TextField } from './field.tsx'

/** A dialog that is open while it is rendered. Escape or a press outside closes it, except while `isBusy`. */
export function Dialog({
  title,
  children,
  onClose,
  isBusy = false,
  role = 'dialog',
  size = 'small',
}: {
  title: string
  children: ReactNode
  onClose: () => void
  isBusy?: boolean
  role?: 'dialog' | 'alertdialog'
  size?: 'small' | 'large'
}) {
  return (
    <ModalOverlay
      isOpen
      isDismissable={!isBusy && role === 'dialog'}
      isKeyboardDismissDisabled={isBusy}
      onOpenChange={isOpen => {
        if (!isOpen) onClose()
      }}
      className="overlay"
    >
      <Modal className={`modal ${size}`}>
        <AriaDialog role={role} className="dialog">
          <Heading slot="title">{title}</Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}

/** The last row of a dialog that shows something: a button that closes it, after others. */
export function DialogEnd({
  label = common.close,
  onClose,
  children,
}: {
  label?: string
  onClose: () => void
  children?: ReactNode
}) {
  return (
    <div className="dialog-actions">
      {children}
      <Button variant="primary" onPress={onClose}>
        {label}
      </Button>
    </div>
  )
}

/** Asks before an action, which usually cannot be undone. The dialog stays open until `onConfirm` succeeds, and shows its error. */
export function Confirm({
  title,
  children,
  action,
  variant = 'danger',
  onConfirm,
  onClose,
}: {
  title: string
  children: ReactNode
  /** The label of the button that confirms. */
  action: string
  variant?: 'danger' | 'primary'
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
        <Button variant={variant} onPress={() => confirm.mutate()} isPending={confirm.isPending}>
          {action}
        </Button>
      </div>
    </Dialog>
  )
}

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
      <Form validationErrors={problems} onSubmit={submitting(() => submit.mutate())}>
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

/** Asks for a name. The dialog stays open until `onSubmit` succeeds, and shows its error. */
export function NameDialog({
  title,
  label = common.name,
  action,
  initial = '',
  maxLength,
  validate = () => null,
  onSubmit,
  onClose,
}: {
  title: string
  label?: string
  /** The label of the button that submits. */
  action: string
  initial?: string
  maxLength?: number
  /** Returns what is wrong with a name, or null. */
  validate?: (name: string) => string | null
  onSubmit: (name: string) => Promise<unknown>
  onClose: () => void
}) {
  const [name, setName] = useState(initial)
  const submit = useMutation({
    mutationFn: async () => {
      if (name !== initial) await onSubmit(name)
    },
    onSuccess: onClose,
  })
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // People usually keep the extension, so the selection ends before it.
    const dot = initial.lastIndexOf('.')
    container.current?.querySelector('input')?.setSelectionRange(0, dot > 0 ? dot : initial.length)
  }, [initial])
  return (
    <FormDialog
      title={title}
      action={action}
      submit={submit}
      isValid={name !== '' && validate(name) === null}
      onClose={onClose}
    >
      <div ref={container}>
        <TextField
          label={label}
          value={name}
          onChange={setName}
          validate={validate}
          validationBehavior="aria"
          {...(maxLength !== undefined && { maxLength })}
          isRequired
          autoFocus
          autoComplete="off"
          spellCheck="false"
        />
      </div>
    </FormDialog>
  )
}
