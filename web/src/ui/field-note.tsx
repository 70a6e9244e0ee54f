import { type ReactNode, use, useState } from 'react'
import { FieldError, FieldErrorContext, Text, type ValidationResult } from 'react-aria-components'
import { texts } from '../texts/ui.ts'

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
