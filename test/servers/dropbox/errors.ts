/** An error of the Dropbox API (www.dropbox.com/developers/documentation/http/documentation#error-handling). */
export class DropboxError extends Error {
  readonly status: number
  readonly body: unknown
  readonly headers: Record<string, string>

  constructor(status: number, body: unknown, headers: Record<string, string> = {}) {
    super(JSON.stringify(body))
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** @param reason the tags of the error, such as `path/conflict/file` */
export function refused(reason: string, details: object = {}, status = 409): DropboxError {
  return new DropboxError(status, { error_summary: `${reason}/...`, error: tagged(reason.split('/'), details) })
}

/** The error of `files/upload`, whose tags are in `reason`. */
export function uploadRefused(reason: string): DropboxError {
  const error = { '.tag': 'path', reason: tagged(reason.split('/'), {}), upload_session_id: '' }
  return new DropboxError(409, { error_summary: `path/${reason}/...`, error })
}

export const badRequest = (message: string) => new DropboxError(400, `Error in call to API function: ${message}`)

function tagged([tag = 'other', ...rest]: string[], details: object): object {
  if (rest.length === 0) return { '.tag': tag, ...details }
  return { '.tag': tag, [tag]: tagged(rest, details) }
}

const statuses: Record<string, number> = {
  too_many_requests: 429,
  too_many_write_operations: 429,
  expired_access_token: 401,
  invalid_access_token: 401,
  missing_scope: 401,
  server_error: 500,
}

/** The errors for faults on demand. */
export function errorOf(reason: string, status = statuses[reason] ?? 409, headers: Record<string, string> = {}) {
  if (status >= 500) return new DropboxError(status, 'Internal server error', headers)
  if (status !== 429) return refused(reason, {}, status)
  const error = { reason: { '.tag': reason }, retry_after: Number(headers['retry-after'] ?? 1) }
  return new DropboxError(429, { error_summary: `${reason}/..`, error }, headers)
}
