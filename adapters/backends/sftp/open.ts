import type { SFTPWrapper } from 'ssh2'
import { refusedFolder } from '../../bases/plain/errors.ts'
import { openPlainProvider } from '../../bases/plain/provider.ts'
import type { Host, StorageProvider } from '../../contract.ts'
import type { SftpSettings } from './config.ts'
import { type Connection, connect } from './connect.ts'
import { signIns } from './credentials.ts'
import { toStorageError } from './errors.ts'
import { type Extensions, maxUsers, sftpFiles } from './files.ts'
import { confirmed, promised } from './requests.ts'

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
