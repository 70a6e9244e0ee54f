import type { ReactNode } from 'react'
import { TextField as AriaTextField, FieldError, Input, Label, Text, type TextFieldProps } from 'react-aria-components'

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
      {description && (
        <Text slot="description" className="help">
          {description}
        </Text>
      )}
      <FieldError className="field-error" />
    </AriaTextField>
  )
}
