import { createHash } from 'node:crypto'
import ssh2, { type AnyAuthMethod, type Client, type SFTPWrapper } from 'ssh2'
import { unreachable } from '../../bases/errors.ts'
import { closeOnAbort } from '../../bases/plain/connect.ts'
import { type Host, orAborted, StorageError, type StorageErrorCode } from '../../contract.ts'
import { joinWrites } from '../../join-writes.ts'
import type { SftpSettings } from './config.ts'

/** Milliseconds. */
const readyTimeout = 25_000
/** Milliseconds without data before the server is asked whether it is there. */
const keepaliveInterval = 15_000

export interface Connection {
  client: Client
  sftp: SFTPWrapper
  isOpen: boolean
}

/** @throws INVALID_CONFIG for a host key that nobody has accepted; UNAUTHORIZED for another host key; errors of the library */
export async function connect(
  settings: SftpSettings,
  authHandler: AnyAuthMethod[],
  { network }: Host,
  signal: AbortSignal,
): Promise<Connection> {
  const { host, port, user, hostKeys } = settings
  const client = new ssh2.Client()
  let hostKey = ''
  using _closing = closeOnAbort(signal, () => client.end())
  try {
    const sock = await network.connect({ host, port, signal })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    client.on('error', reject).once('ready', resolve)
    client.once('close', () =>
      reject(Object.assign(new Error('The server closed the connection'), { code: 'ECONNRESET' })),
    )
    client.connect({
      sock,
      username: user,
      authHandler,
      readyTimeout,
      keepaliveInterval,
      hostVerifier: (key: Buffer) => {
        hostKey = fingerprintOf(key)
        return hostKeys.includes(hostKey)
      },
    })
    await orAborted(promise, signal)
    joinWrites(sock)
    const sftp = await new Promise<SFTPWrapper>((resolve, reject) => {
      const message = 'The server does not offer SFTP to this user: ask its administrator.'
      client.sftp((cause, sftp) =>
        cause ? reject(new StorageError('PERMISSION_DENIED', message, { cause })) : resolve(sftp),
      )
    })
    const connection = { client, sftp, isOpen: true }
    client.once('close', () => {
      connection.isOpen = false
    })
    sftp.once('close', () => client.end())
    return connection
  } catch (error) {
    client.end()
    if (hostKey !== '' && !hostKeys.includes(hostKey)) throw wrongHostKey(settings, hostKey)
    throw error
  }
}

/** As `ssh-keygen -lf` prints it. */
function fingerprintOf(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=$/, '')}`
}

function wrongHostKey({ host, hostKeys }: SftpSettings, actual: string): StorageError {
  if (hostKeys.length === 0) {
    const message = `${host} has the host key ${actual}. Compare it with the one that the administrator of the server names, and enter it as the host key.`
    const property = { name: 'hostKey', suggestion: actual }
    return new StorageError('INVALID_CONFIG', message, { property })
  }
  const message = `${host} has another host key (${actual}) than this storage. If its administrator has changed it, correct the host key; otherwise somebody may be intercepting the connection.`
  return new StorageError('UNAUTHORIZED', message)
}

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
