import { StorageError, type StorageErrorCode } from '../contract.ts'

/** A failed request, described by its response, if any. */
export interface Failure {
  /** Undefined without a response. */
  status: number | undefined
  /** Google's reason, such as `userRateLimitExceeded` or `invalid_grant`. */
  reason: string | undefined
  retryAfterMs: number | undefined
  cause: unknown
}

/** Returns true if Drive refused the request for its rate, before doing anything. Every such request can be repeated. */
export const isRateLimit = ({ status, reason }: Failure) =>
  status === 429 || (status === 403 && (reason === 'userRateLimitExceeded' || reason === 'rateLimitExceeded'))

/** Returns true for a temporary failure, after which the request may or may not have taken effect. */
export const isTransient = ({ status }: Failure) => status === undefined || status >= 500 || status === 408

export function failureOf(error: unknown): Failure {
  const response = property(error, 'response')
  const code = property(response, 'status')
  const status = code === undefined ? undefined : Number(code)
  const reason = reasonOf(property(response, 'data'))
  return {
    status,
    reason,
    retryAfterMs: retryAfterOf(property(response, 'headers')),
    cause: forLog(error, status, reason),
  }
}

/** Copies an error for the log. The client's own errors contain whole requests, with bodies and secret session URLs. */
function forLog(error: unknown, status: number | undefined, reason: string | undefined): Error {
  const message = error instanceof Error ? error.message : String(error)
  const code = property(property(error, 'cause'), 'code') ?? property(error, 'code')
  return Object.assign(new Error(withoutSecrets(message)), { status, reason, code })
}

/** Removes queries of URLs and words as long as tokens, which a response may repeat. */
function withoutSecrets(text: string): string {
  return text.replace(/\?[^\s"']*/g, '?...').replace(/[\w.~+/=%-]{40,}/g, '...')
}

/** `{error: {errors: [{reason}]}}` of the Drive API, `{error: 'invalid_grant'}` of OAuth. */
function reasonOf(data: unknown): string | undefined {
  const body = typeof data === 'string' ? parse(data) : data
  const error = property(body, 'error')
  if (typeof error === 'string') return error
  const errors = property(error, 'errors')
  const reason = Array.isArray(errors) ? property(errors[0], 'reason') : undefined
  return typeof reason === 'string' ? reason : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** Parses Retry-After: seconds or a date (RFC 9110, section 10.2.3). The client's Headers class is not the global one. */
function retryAfterOf(headers: unknown): number | undefined {
  const get = property(headers, 'get')
  const value: unknown = typeof get === 'function' ? get.call(headers, 'retry-after') : undefined
  if (typeof value !== 'string') return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}

const denied = 'The Google account has no permission for this: check its access to the file or folder in Google Drive.'
const full =
  'The storage of the Google account is full: free some space or buy more. (A service account can only store in shared drives.)'

/** Keys are reasons (developers.google.com/workspace/drive/api/guides/handle-errors) or statuses. */
const meanings: Record<string, readonly [StorageErrorCode, string]> = {
  storageQuotaExceeded: ['QUOTA_EXCEEDED', full],
  teamDriveFileLimitExceeded: [
    'QUOTA_EXCEEDED',
    'The shared drive has reached its maximum number of files: delete some.',
  ],
  numChildrenInNonRootLimitExceeded: [
    'QUOTA_EXCEEDED',
    'The folder has reached its maximum number of files: use another.',
  ],
  teamDriveHierarchyTooDeep: ['INVALID_PATH', 'Google Drive cannot nest folders that deep.'],
  dailyLimitExceeded: ['RATE_LIMITED', 'The Google Cloud project has used up its requests for today.'],
  downloadQuotaExceeded: ['RATE_LIMITED', 'The file was downloaded too often: Google allows it again within a day.'],
  activeItemCreationLimitExceeded: [
    'QUOTA_EXCEEDED',
    'The account has reached its maximum number of files: delete some.',
  ],
  exportSizeLimitExceeded: [
    'PERMISSION_DENIED',
    'Google exports documents of at most 10 MB, and this one is larger: open it in Drive.',
  ],
  cannotDownloadAbusiveFile: ['PERMISSION_DENIED', 'Google considers this file harmful and blocks its download.'],
  accessNotConfigured: ['UNAUTHORIZED', 'The Drive API is not enabled in the Google Cloud project: enable it there.'],
  insufficientPermissions: ['NEEDS_RECONNECT', 'The consent does not cover Google Drive: connect again and allow all.'],
  invalid_grant: ['NEEDS_RECONNECT', 'The consent for Google Drive was withdrawn or has expired: connect it again.'],
  invalid_client: ['UNAUTHORIZED', 'Google does not know this OAuth client or its secret: check both.'],
  unauthorized_client: [
    'UNAUTHORIZED',
    'This OAuth client is not allowed to request consent: check its type and redirect address.',
  ],
  redirect_uri_mismatch: ['UNAUTHORIZED', 'The OAuth client lacks the redirect address of this server: add it there.'],
  '401': ['UNAUTHORIZED', 'Google refuses the credentials: check them, and connect again.'],
  '403': ['PERMISSION_DENIED', denied],
  '404': ['NOT_FOUND', 'There is nothing at this path.'],
  '416': ['RANGE_NOT_SATISFIABLE', 'The range begins past the end of the file.'],
}

export function toStorageError(failure: Failure): StorageError {
  const { status, reason, retryAfterMs, cause } = failure
  if (isRateLimit(failure)) {
    const message = 'Google Drive accepts no more requests for now: try again in a minute.'
    return new StorageError('RATE_LIMITED', message, { cause, retryAfterMs: retryAfterMs ?? 30_000 })
  }
  const [code, message] = meanings[reason ?? ''] ??
    meanings[String(status)] ?? ['UNAVAILABLE', 'Google Drive sent an unexpected response: try again.']
  return new StorageError(code, message, { cause, retryAfterMs })
}

export const notFound = () => new StorageError('NOT_FOUND', 'There is nothing at this path.')
export const alreadyExists = () => new StorageError('ALREADY_EXISTS', 'There is something at this path already.')
export const notAFile = () => new StorageError('NOT_A_FILE', 'There is a folder at this path.')
export const notADirectory = () => new StorageError('NOT_A_DIRECTORY', 'Something on this path is not a folder.')
export const notReplaceable = () =>
  new StorageError('PERMISSION_DENIED', 'A Google document cannot be replaced by a file: choose another name.')

export function hasCode(error: unknown, code: StorageErrorCode): boolean {
  return error instanceof StorageError && error.code === code
}
