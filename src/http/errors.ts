import { AppError, type Reason, toAppError } from '../errors.ts'

/** What Fastify and its plugins call their errors, and what a client should know of them. */
const known: Record<string, [Reason, string]> = {
  FST_ERR_BAD_URL: ['INVALID_INPUT', 'The address is malformed: its percent-encoding cannot be decoded.'],
  FST_ERR_MAX_PARAM_LENGTH: ['INVALID_INPUT', 'A part of the address is too long.'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['TOO_LARGE', 'The body is larger than this address takes.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['INVALID_INPUT', 'The body is empty, and its Content-Type says that it is JSON.'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['INVALID_INPUT', 'The body is not valid JSON.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['INCOMPLETE_BODY', 'The body is not as long as its Content-Length says.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'The Content-Type is not one that this address takes.'],
  FST_PARTS_LIMIT: ['TOO_LARGE', 'The form has too many parts: send the files in several requests.'],
  FST_FILES_LIMIT: ['TOO_LARGE', 'The form has too many files: send them in several requests.'],
  FST_FIELDS_LIMIT: ['INVALID_INPUT', 'The form has too many fields: it takes "providerId", "path" and "conflict".'],
  FST_PROTO_VIOLATION: ['INVALID_INPUT', 'A field of the form has a name that is not allowed.'],
  FST_INVALID_JSON_FIELD_ERROR: ['INVALID_INPUT', 'A field of the form is not the JSON that its type says.'],
  FST_MP_PREMATURE_CLOSE: ['INCOMPLETE_BODY', 'The form ended before it was complete.'],
}

/** By status, where the code is not listed. */
const byStatus: Record<number, Reason> = {
  400: 'INVALID_INPUT',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  413: 'TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMITED',
  503: 'UNAVAILABLE',
}

/** What a client is told of anything that a route, a hook, a plugin or Fastify itself throws. */
export function fromHttp(error: unknown): AppError {
  if (error instanceof AppError || !(error instanceof Error)) return toAppError(error)
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown }
  const listed = known[String(code)]
  if (listed) return new AppError(...listed, { cause: error })
  const reason = typeof statusCode === 'number' ? byStatus[statusCode] : undefined
  return reason ? new AppError(reason, undefined, { cause: error }) : toAppError(error)
}

/** The parser of forms has no codes for a form that is none. */
export function fromForm(error: unknown): AppError {
  if (error instanceof Error && !('code' in error) && !(error instanceof AppError)) {
    return /unexpected end|terminated early/i.test(error.message)
      ? new AppError('INCOMPLETE_BODY', 'The form ended before it was complete.', { cause: error })
      : new AppError('INVALID_INPUT', 'The form is malformed: its parts cannot be told apart.', { cause: error })
  }
  return fromHttp(error)
}
