import { StorageError, type StorageErrorCode } from '../../contract.ts'
import { isNetworkError, unreachable } from '../../unreachable.ts'

type Meaning = [StorageErrorCode, string]
const login: Meaning = ['UNAUTHORIZED', 'The server refuses the user name or the password: correct them.']
const security: Meaning = [
  'UNAVAILABLE',
  'The server requires another kind of encryption: change the security of this storage.',
]
const full: Meaning = ['QUOTA_EXCEEDED', 'The server is full: free some space, or raise the quota.']

/** https://www.rfc-editor.org/rfc/rfc959#section-4.2, RFC 2228 and RFC 4217. 550 has many reasons. */
const meanings: Record<number, Meaning> = {
  421: ['UNAVAILABLE', 'The server allows no more connections now: try again later, or use fewer connections.'],
  425: ['UNAVAILABLE', 'The server could not open a connection for the content: try again later.'],
  426: ['UNAVAILABLE', 'The server cut the connection for the content: try again.'],
  430: login,
  450: ['IN_USE', 'The file is in use at the server: close it there, or try again later.'],
  451: ['UNAVAILABLE', 'The server had an error of its own: try again later.'],
  452: full,
  501: ['INVALID_PATH', 'The server cannot store such a name: choose another one.'],
  522: security,
  530: login,
  534: security,
  550: ['PERMISSION_DENIED', 'The server does not allow this at this path: check the permissions of the user.'],
  552: full,
  553: ['INVALID_PATH', 'The server cannot store such a name, or does not allow it: choose another one.'],
}

/** Converts errors of the server and the network. Returns others unchanged: an abort, or a bug. */
export function toStorageError(error: unknown, server: { host: string; port: number }): unknown {
  if (!(error instanceof Error) || error.name === 'StorageError' || error.name === 'AbortError') return error
  const { code, message } = error as Error & { code?: unknown }
  if (typeof code === 'number') {
    const isName = code >= 550 && /too long|invalid|illegal|not allowed in/i.test(message)
    const unknown: Meaning = ['UNAVAILABLE', `The server refuses a command (FTP ${code}): see the log.`]
    return new StorageError(...(meanings[isName ? 553 : code] ?? unknown), { cause: error })
  }
  // The library reports a lost connection without a code.
  const isLost = isNetworkError(error) || /closed|FIN packet|Timeout|data connection/.test(message)
  return isLost ? unreachable(error, server) : error
}
