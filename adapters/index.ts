import { azureBlobAdapter } from './azure-blob/index.ts'
import type { AdapterDefinition } from './contract.ts'
import { dropboxAdapter } from './dropbox/index.ts'
import { ftpAdapter } from './ftp/index.ts'
import { googleDriveAdapter } from './google-drive/index.ts'
import type { LocalOptions } from './local/config.ts'
import { localAdapter } from './local/index.ts'
import { memoryAdapter } from './memory/index.ts'
import { oneDriveAdapter } from './onedrive/index.ts'
import { s3Adapter } from './s3/index.ts'
import { sftpAdapter } from './sftp/index.ts'
import { webdavAdapter } from './webdav/index.ts'

/** The adapters that come with Stowage. Each `open` takes a config that its own schema has passed. */
export function builtInAdapters(options: LocalOptions): AdapterDefinition[] {
  return [
    localAdapter(options),
    s3Adapter,
    azureBlobAdapter(),
    googleDriveAdapter(),
    dropboxAdapter(),
    oneDriveAdapter(),
    webdavAdapter,
    sftpAdapter,
    ftpAdapter,
    memoryAdapter,
  ]
}
