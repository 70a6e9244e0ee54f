import { type FormEvent, type ReactNode, use, useState } from 'react'
import {
  TextField as AriaTextField,
  FieldError,
  FieldErrorContext,
  Input,
  Label,
  Text,
  type TextFieldProps,
  type ValidationResult,
} from 'react-aria-components'
import { common } from '../texts/common.ts'
import { texts } from '../texts/ui.ts'

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

/**
 * The hint or the error below a field, in a slot that never becomes lower. An error disappears when the field loses the focus
 * to a pressed button: if the button moved meanwhile, the press would be lost.
 */
export function FieldNote({
  description,
  minLength,
  type,
}: {
  description?: ReactNode
  minLength?: number | undefined
  /** The type of the input. */
  type?: string | undefined
}) {
  const validation = use(FieldErrorContext)
  const error = validation?.isInvalid ? messageOf(validation, minLength, type) : ''
  const [lastError, setLastError] = useState(error)
  if (error !== '' && error !== lastError) setLastError(error)
  return (
    <div className="field-note" data-last-error={lastError}>
      {description && (
        <Text slot="description" className={error === '' ? 'help' : 'help covered'}>
          {description}
        </Text>
      )}
      <FieldError className="field-error">{error}</FieldError>
    </div>
  )
}

/** The browser's own messages can take several lines, so short ones replace them. */
function messageOf(
  { validationDetails, validationErrors }: ValidationResult,
  minLength?: number,
  type?: string,
): string {
  if (validationDetails.valueMissing) return texts.fillIn
  if (validationDetails.tooShort) return texts.tooShort(minLength)
  if (validationDetails.typeMismatch) return type === 'url' ? texts.wrongUrl : texts.wrongEmail
  return validationErrors.join(' ')
}

/** A field for the name that people give to something. */
export function NameField(
  props: Pick<TextFieldProps, 'value' | 'onChange' | 'autoFocus'> & { description?: ReactNode },
) {
  return <TextField {...props} label={common.name} isRequired maxLength={200} autoComplete="off" />
}

/** A field for a password that an account is to have. The bounds are those of the server. */
export function NewPasswordField(
  props: Pick<TextFieldProps, 'name' | 'value' | 'onChange' | 'autoFocus'> & { label: string; description: ReactNode },
) {
  return <TextField {...props} type="password" autoComplete="new-password" minLength={12} maxLength={256} isRequired />
}

/** Returns the handler of a form that passes what was entered to `run`. */
export function submitting(run: (entered: FormData) => void) {
  return (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    run(new FormData(event.currentTarget))
  }
}
