import { AppError, type Reason } from '../../errors.ts'

/** The codes of errors in RFC 6749, 7591 and 8707. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'

/** An error for an application. Other front ends send it as they send the reason. */
export class OAuthError extends AppError {
  readonly error: OAuthErrorCode

  constructor(error: OAuthErrorCode, message: string, details: { cause?: unknown; reason?: Reason } = {}) {
    super(details.reason ?? 'INVALID_INPUT', message, details)
    this.error = error
  }
}

/** Returns the message of an error in the characters that RFC 6749, section 4.1.2.1 permits. */
export function describeError({ message }: AppError): string {
  return message.replaceAll('"', "'").replace(/[^ !#-[\]-~]/g, '?')
}

/**
 * Parses parameters in the form of a query or a form, none of which may be repeated (RFC 6749, section 3.1).
 * @throws OAuthError
 */
export function parseParameters(text: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(text)) {
    // Parameters without a value count as missing.
    if (value === '') continue
    if (parameters.has(name)) {
      const error = name === 'resource' ? 'invalid_target' : 'invalid_request'
      throw new OAuthError(error, 'A parameter appears more than once.')
    }
    parameters.set(name, value)
  }
  return parameters
}

/** @throws OAuthError */
export function required(parameters: ReadonlyMap<string, string>, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `The parameter "${name}" is missing.`)
  return value
}
