import { createHash } from 'node:crypto'
import ssh2, { type AnyAuthMethod, type Client, type SFTPWrapper } from 'ssh2'
import { closeOnAbort } from '../../bases/plain/abort.ts'
import { type Host, orAborted, StorageError } from '../../contract.ts'
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
