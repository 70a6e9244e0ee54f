import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Form } from 'react-aria-components'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { TextField } from '../ui/field.tsx'

/** Asks for the name of a file or folder; `act` is waited for, and its failure shown here. */
export function NameDialog({
  title,
  label,
  action,
  initial = '',
  act,
  onClose,
}: {
  title: string
  label: string
  action: string
  initial?: string
  act: (name: string) => Promise<unknown>
  onClose: () => void
}) {
  const [name, setName] = useState(initial)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const form = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // The part that people change: all but the extension.
    const dot = initial.lastIndexOf('.')
    form.current?.querySelector('input')?.setSelectionRange(0, dot > 0 ? dot : initial.length)
  }, [initial])
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (name === initial) return onClose()
    setBusy(true)
    setError(null)
    try {
      await act(name)
      onClose()
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose} isBusy={busy}>
      <div ref={form}>
        <Form onSubmit={submit}>
          <TextField
            label={label}
            value={name}
            onChange={setName}
            validate={value => (value.includes('/') ? 'A name has no “/”.' : null)}
            validationBehavior="aria"
            isRequired
            autoFocus
            autoComplete="off"
            spellCheck="false"
          />
          {error !== null && <ErrorBox error={error} />}
          <div className="dialog-actions">
            <Button onPress={onClose} isDisabled={busy}>
              Cancel
            </Button>
            <Button variant="primary" type="submit" isPending={busy} isDisabled={name === '' || name.includes('/')}>
              {action}
            </Button>
          </div>
        </Form>
      </div>
    </Dialog>
  )
}
