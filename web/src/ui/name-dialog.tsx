import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Form } from 'react-aria-components'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorBox } from './error-box.tsx'
import { TextField } from './field.tsx'

/** Asks for a name. The dialog stays open until `onSubmit` succeeds, and shows its error. */
export function NameDialog({
  title,
  label = 'Name',
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
  const submit = useMutation({ mutationFn: () => onSubmit(name), onSuccess: onClose })
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // People usually keep the extension, so the selection ends before it.
    const dot = initial.lastIndexOf('.')
    container.current?.querySelector('input')?.setSelectionRange(0, dot > 0 ? dot : initial.length)
  }, [initial])
  return (
    <Dialog title={title} onClose={onClose} isBusy={submit.isPending}>
      <div ref={container}>
        <Form
          onSubmit={event => {
            event.preventDefault()
            if (name === initial) onClose()
            else submit.mutate()
          }}
        >
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
          {submit.error && <ErrorBox error={submit.error} />}
          <div className="dialog-actions">
            <Button onPress={onClose} isDisabled={submit.isPending}>
              Cancel
            </Button>
            <Button
              type="submit"
              variant="primary"
              isPending={submit.isPending}
              isDisabled={name === '' || validate(name) !== null}
            >
              {action}
            </Button>
          </div>
        </Form>
      </div>
    </Dialog>
  )
}
