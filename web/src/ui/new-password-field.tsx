import type { ReactNode } from 'react'
import type { TextFieldProps } from 'react-aria-components'
import { TextField } from './field.tsx'

/** A field for a password that an account is to have. The bounds are those of the server. */
export function NewPasswordField(
  props: Pick<TextFieldProps, 'name' | 'value' | 'onChange' | 'autoFocus'> & { label: string; description: ReactNode },
) {
  return <TextField {...props} type="password" autoComplete="new-password" minLength={12} maxLength={256} isRequired />
}
