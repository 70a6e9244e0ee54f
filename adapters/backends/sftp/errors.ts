import { StorageError, type StorageErrorCode } from '../../contract.ts'
import { unreachable } from '../../unreachable.ts'

/** https://datatracker.ietf.org/doc/html/draft-ietf-secsh-filexfer-02#section-7. 4 has many reasons. */
const meanings: Record<number, [StorageErrorCode, string]> = {
  2: ['NOT_FOUND', 'There is nothing at this path.'],
  3: ['PERMISSION_DENIED', 'The server does not allow this at this path: check the permissions of the user.'],
  4: ['PERMISSION_DENIED', 'The server refuses this at this path: check the permissions of the user.'],
  8: ['PERMISSION_DENIED', 'The server does not support this.'],
}

/** Converts errors of the server and of connections. Returns others unchanged: an abort, or a bug. */
export function toStorageError(error: unknown, server: { host: string; port: number }): unknown {
  if (!(error instanceof Error) || ['StorageError', 'AbortError', 'TypeError'].includes(error.name)) return error
  const { code, level } = error as Error & { code?: unknown; level?: string }
  const known = typeof code === 'number' && level === undefined ? meanings[code] : undefined
  if (known) return new StorageError(...known, { cause: error })
  if (level !== 'client-authentication') return unreachable(error, server)
  const message = 'The server refuses the user name, the password or the key: correct them.'
  return new StorageError('UNAUTHORIZED', message, { cause: error })
}
