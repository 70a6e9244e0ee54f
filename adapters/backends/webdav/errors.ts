import { isNetworkError, unreachable } from '../../bases/errors.ts'
import { parseRetryAfter } from '../../bases/retry.ts'
import { StorageError, type StorageErrorCode } from '../../contract.ts'

type Meaning = [StorageErrorCode, string]

const busy: Meaning = ['UNAVAILABLE', 'The server is not available now: try again later.']
const incomplete: Meaning = ['UNAVAILABLE', 'Other bytes than were sent have reached the server: send them again.']
const failed: Meaning = ['UNAVAILABLE', 'The server had an error of its own: try again later, or see its log.']

/** RFC 9110, section 15, and RFC 4918, section 11. 403, 405, 409 and 412 have many reasons. */
const meanings: Readonly<Record<number, Meaning>> = {
  400: ['INVALID_PATH', 'The server cannot store such a name: choose another one.'],
  401: ['UNAUTHORIZED', 'The server refuses the user name and the password, or the token: correct them.'],
  404: ['NOT_FOUND', 'There is nothing at this path.'],
  408: busy,
  410: ['NOT_FOUND', 'There is nothing at this path.'],
  412: ['PRECONDITION_FAILED', 'The file has changed since.'],
  413: ['PERMISSION_DENIED', 'The server does not accept a file of this size.'],
  414: ['INVALID_PATH', 'The path is too long for the server: choose a shorter one.'],
  416: ['PRECONDITION_FAILED', 'The file has changed since.'],
  423: ['IN_USE', 'Another program has locked the file: close it there, or try again later.'],
  429: ['RATE_LIMITED', 'The server limits the rate of requests: try again later.'],
  502: busy,
  503: busy,
  504: busy,
  507: ['QUOTA_EXCEEDED', 'The server is full: free some space, or raise the quota.'],
  // Cloudflare: the server did not respond in time.
  524: busy,
}

/** Methods whose failure can have a reason that only another look shows. */
const changes = new Set(['MKCOL', 'MOVE', 'COPY', 'DELETE'])

/** sabre/dav, with which Nextcloud and ownCloud are built, names an error. They have another one for a name that they cannot store. */
const badRequest = '<s:exception>Sabre\\DAV\\Exception\\BadRequest</s:exception>'

/** The response of a server that refuses a request. */
class Refusal extends Error {
  readonly status: number

  constructor(method: string, status: number, details: string) {
    super(`${method}: HTTP ${status} ${details}`)
    this.status = status
  }
}

/** Returns the status with which a server has refused a request, if it has. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof StorageError && error.cause instanceof Refusal ? error.cause.status : undefined
}

/** Returns whether a server has refused a position of its changes: RFC 6578, section 3.2. */
export function isInvalidToken(error: unknown): boolean {
  const refused = error instanceof StorageError ? error.cause : null
  return refused instanceof Refusal && refused.message.includes('valid-sync-token')
}

/** @param details the start of the response's body, for the log */
export function refusal(
  method: string,
  status: number,
  { retryAfter, details }: { retryAfter: string | null; details: string },
): StorageError {
  const denied: Meaning = [
    'PERMISSION_DENIED',
    `The server refuses this at this path (HTTP ${status}): check the permissions of the user.`,
  ]
  const other = status >= 500 && !changes.has(method) ? failed : denied
  const isIncomplete = status === 400 && method !== 'PROPFIND' && details.includes(badRequest)
  const [code, message] = isIncomplete ? incomplete : (meanings[status] ?? other)
  const cause = new Refusal(method, status, details)
  return new StorageError(code, message, { cause, retryAfterMs: parseRetryAfter(retryAfter) })
}

/** Converts errors of requests and of their bodies. Returns others unchanged: an abort, an error of the sent body, or a bug. */
export function toStorageError(error: unknown, { hostname, port, protocol }: URL): unknown {
  const cause = error instanceof TypeError ? error.cause : error
  if (!(cause instanceof Error) || cause.name === 'StorageError') return cause ?? error
  if (cause === error && !isNetworkError(cause)) return error
  return unreachable(cause, { host: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) })
}
