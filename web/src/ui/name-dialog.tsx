import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { common } from '../texts/common.ts'
import { TextField } from './field.tsx'
import { FormDialog } from './form-dialog.tsx'

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
