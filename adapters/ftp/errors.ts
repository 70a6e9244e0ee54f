import { StorageError, type StorageErrorCode } from '../contract.ts'
import { isNetworkError, whyUnreachable } from '../unreachable.ts'

/** https://www.rfc-editor.org/rfc/rfc959#section-4.2, RFC 2228 and RFC 4217. 550 has many reasons. */
const meanings: Record<number, [StorageErrorCode, string]> = {
  421: [
    'UNAVAILABLE',
    'The server allows no more connections now: try again later, or lower the number of connections.',
  ],
  425: ['UNAVAILABLE', 'The server could not open a connection for the content: try again later.'],
  426: ['UNAVAILABLE', 'The server cut the connection for the content: try again.'],
  430: ['UNAUTHORIZED', 'The server refuses the user name or the password: correct them.'],
  450: ['UNAVAILABLE', 'The file is in use at the server: try again later.'],
  451: ['UNAVAILABLE', 'The server had an error of its own: try again later.'],
  452: ['QUOTA_EXCEEDED', 'The server is full: free some space, or raise the quota.'],
  501: ['INVALID_PATH', 'The server cannot store such a name: choose another one.'],
  522: ['UNAVAILABLE', 'The server requires another kind of encryption: change the security of this storage.'],
  530: ['UNAUTHORIZED', 'The server refuses the user name or the password: correct them.'],
  534: ['UNAVAILABLE', 'The server requires another kind of encryption: change the security of this storage.'],
  550: ['PERMISSION_DENIED', 'The server does not allow this at this path: check the permissions of the user.'],
  552: ['QUOTA_EXCEEDED', 'The server is full: free some space, or raise the quota.'],
  553: ['INVALID_PATH', 'The server cannot store such a name, or does not allow it: choose another one.'],
}

/** Converts errors of the server and the network. Returns others unchanged: an abort, or a bug. */
export function toStorageError(error: unknown, { host, port }: { host: string; port: number }): unknown {
  if (!(error instanceof Error) || error.name === 'StorageError' || error.name === 'AbortError') return error
  const code = codeOf(error)
  if (code !== undefined) {
    const isName = code >= 550 && /too long|invalid|illegal|not allowed in/i.test(error.message)
    const [kind, message] = meanings[isName ? 553 : code] ?? [
      'UNAVAILABLE',
      `The server refuses a command (FTP ${code}): see the log.`,
    ]
    return new StorageError(kind, message, { cause: error })
  }
  // The library reports a lost connection without a code.
  if (!isNetworkError(error) && !/closed|FIN packet|Timeout|data connection|Client is closed/.test(error.message))
    return error
  const message = `${host}:${port} cannot be reached: ${whyUnreachable(error)}. Check the server and the port, or try again.`
  return new StorageError('UNAVAILABLE', message, { cause: error })
}

/** Returns the code of the server's response; undefined for other errors. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : undefined
}

/** Returns whether a connection was lost or could not be opened, and not a command refused. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error)
  return code === undefined ? error instanceof Error && error.name !== 'StorageError' : [425, 426].includes(code)
}
