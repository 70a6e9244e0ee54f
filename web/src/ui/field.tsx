import type { ReactNode } from 'react'
import { TextField as AriaTextField, Input, Label, type TextFieldProps } from 'react-aria-components'
import { FieldNote } from './field-note.tsx'

export function TextField({
  label,
  description,
  placeholder,
  ...props
}: TextFieldProps & { label: string; description?: ReactNode; placeholder?: string }) {
  return (
    <AriaTextField {...props} className="field">
      <Label>{label}</Label>
      <Input {...(placeholder !== undefined && { placeholder })} />
      <FieldNote description={description} minLength={props.minLength} type={props.type} />
    </AriaTextField>
  )
}
