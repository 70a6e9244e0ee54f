import type { AnyAuthMethod, ParsedKey, SFTPWrapper } from 'ssh2'
import ssh2 from 'ssh2'
import { refusedFolder } from '../../bases/plain/errors.ts'
import { openPlainProvider } from '../../bases/plain/provider.ts'
import { type Host, StorageError, type StorageProvider } from '../../contract.ts'
import { type Connection, connect, toStorageError } from './client.ts'
import type { SftpSettings } from './config.ts'
import { type Extensions, maxUsers, sftpFiles } from './files.ts'
import { confirmed, promised } from './transfer.ts'

/** @throws INVALID_CONFIG, UNAUTHORIZED, UNAVAILABLE */
export async function openProvider(settings: SftpSettings, host: Host): Promise<StorageProvider> {
  const ways = signIns(settings)
  const pool = host.pool<Connection>({
    max: settings.connections,
    maxUsers,
    open: ({ signal }) => connect(settings, ways, host, signal),
    close: ({ client }) => void client.end(),
    isOpen: ({ isOpen }) => isOpen,
    toError: error => toStorageError(error, settings),
  })
  try {
    const { base, extensions } = await pool.use(host, async ({ sftp }) => ({
      base: await baseOf(sftp, settings),
      extensions: extensionsOf(sftp),
    }))
    return await openPlainProvider(sftpFiles(settings, base, extensions, pool), host)
  } catch (error) {
    pool.close()
    throw error
  }
}

/** Finds the folder of the provider. */
async function baseOf(sftp: SFTPWrapper, settings: SftpSettings): Promise<string> {
  try {
    const path = await promised<string>(done => sftp.realpath(settings.folder || '.', done))
    // `realpath` accepts a folder that is missing.
    const handle = await promised<Buffer>(done => sftp.opendir(path, done))
    await confirmed(done => sftp.close(handle, done))
    return path.replace(/\/$/, '')
  } catch (error) {
    throw refusedFolder(toStorageError(error, settings), settings.folder)
  }
}

function extensionsOf(sftp: SFTPWrapper): Extensions {
  return {
    posixRename: hasExtension(() => sftp.ext_openssh_rename(undefined as never, '', () => {})),
    fsync: hasExtension(() => sftp.ext_openssh_fsync(undefined as never, () => {})),
    statvfs: hasExtension(() => sftp.ext_openssh_statvfs(undefined as never, () => {})),
    copyData: hasExtension(() => sftp.ext_copy_data(undefined as never, 0, 0, undefined as never, 0, () => {})),
  }
}

/** The library checks whether the server has the extension before it looks at the arguments, which are wrong here. */
function hasExtension(send: () => unknown): boolean {
  try {
    send()
    return true
  } catch (error) {
    return !(error instanceof Error && error.message.includes('does not support'))
  }
}

/**
 * Returns the ways to sign in, in the order in which they are tried. Call it once for all connections, because decrypting a
 * private key takes a quarter of a second by design.
 * @throws INVALID_CONFIG for a key that cannot be read
 */
function signIns({ user: username, password, privateKey, passphrase }: SftpSettings): AnyAuthMethod[] {
  const ways: AnyAuthMethod[] = []
  if (privateKey !== undefined) ways.push({ type: 'publickey', username, key: parseKey(privateKey, passphrase) })
  if (password === undefined) return ways
  return [
    ...ways,
    { type: 'password', username, password },
    // Servers without passwords often ask the same question in this way.
    {
      type: 'keyboard-interactive',
      username,
      prompt: (_name, _text, _language, prompts, answer) => answer(prompts.map(() => password)),
    },
  ]
}

function parseKey(privateKey: string, passphrase: string | undefined): ParsedKey {
  const parsed = ssh2.utils.parseKey(privateKey, passphrase)
  const [key] = Array.isArray(parsed) ? parsed : [parsed]
  if (key && !(key instanceof Error) && key.isPrivateKey()) return key
  const message = 'The private key cannot be read: paste the whole file of the key, and its passphrase if it has one.'
  const cause = key instanceof Error ? key : undefined
  throw new StorageError('INVALID_CONFIG', message, { cause, property: { name: 'privateKey' } })
}
