import { createHash } from 'node:crypto'
import ssh2, { type Client, type SFTPWrapper } from 'ssh2'
import { type Host, orAborted, StorageError } from '../contract.ts'
import type { SftpSettings } from './config.ts'
import { toStorageError } from './errors.ts'

/** Milliseconds. */
const readyTimeout = 25_000
/** Milliseconds without data before the server is asked whether it is there. */
const keepaliveInterval = 15_000

export interface Connection {
  client: Client
  sftp: SFTPWrapper
  isOpen: boolean
}

/** @throws INVALID_CONFIG for a key that cannot be read; UNAUTHORIZED, also for another host key; UNAVAILABLE */
export async function connect(settings: SftpSettings, { network }: Host, signal: AbortSignal): Promise<Connection> {
  const { host, port, user, password, privateKey, passphrase } = settings
  const client = new ssh2.Client()
  let hostKey = ''
  const close = () => void client.end()
  signal.addEventListener('abort', close, { once: true })
  try {
    const sock = await network.connect({ host, port, signal })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    client.on('error', reject).once('ready', resolve)
    client.once('close', () =>
      reject(Object.assign(new Error('The server closed the connection'), { code: 'ECONNRESET' })),
    )
    // Servers without passwords often ask the same question in this way.
    client.on('keyboard-interactive', (_name, _text, _language, prompts, answer) =>
      answer(prompts.map(() => password ?? '')),
    )
    client.connect({
      sock,
      username: user,
      ...(password !== undefined && { password, tryKeyboard: true }),
      ...(privateKey !== undefined && { privateKey: checkedKey(privateKey, passphrase) }),
      ...(privateKey !== undefined && passphrase !== undefined && { passphrase }),
      readyTimeout,
      keepaliveInterval,
      hostVerifier: (key: Buffer) => {
        hostKey = fingerprintOf(key)
        return settings.hostKeys.includes(hostKey)
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
    if (signal.aborted) throw signal.reason
    if (hostKey !== '' && !settings.hostKeys.includes(hostKey)) throw wrongHostKey(settings, hostKey)
    throw toStorageError(error, settings)
  } finally {
    signal.removeEventListener('abort', close)
  }
}

/** As `ssh-keygen -lf` prints it. */
function fingerprintOf(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=$/, '')}`
}

function wrongHostKey({ host, hostKeys }: SftpSettings, actual: string): StorageError {
  return hostKeys.length === 0
    ? new StorageError(
        'INVALID_CONFIG',
        `${host} has the host key ${actual}. Compare it with the one that the administrator of the server names, and enter it as the host key.`,
      )
    : new StorageError(
        'UNAUTHORIZED',
        `${host} has another host key (${actual}) than this storage. If its administrator has changed it, correct the host key; otherwise somebody may be intercepting the connection.`,
      )
}

/** @throws INVALID_CONFIG */
function checkedKey(privateKey: string, passphrase: string | undefined): string {
  const parsed = ssh2.utils.parseKey(privateKey, passphrase)
  const [key] = Array.isArray(parsed) ? parsed : [parsed]
  if (key && !(key instanceof Error) && key.isPrivateKey()) return privateKey
  throw new StorageError(
    'INVALID_CONFIG',
    'The private key cannot be read: paste the whole file of the key, and its passphrase if it has one.',
    { cause: key instanceof Error ? key : undefined },
  )
}
