/**
 * The code for back ends. A configuration and a host enter, and a `StorageProvider` of `contract.ts` leaves. Nothing here imports
 * the server. `backends/` has a folder for each type, `bases/` has the code that several types share, and `conformance/` has the
 * cases that every adapter must pass.
 */
import { azureBlobAdapter } from './backends/azure-blob/index.ts'
import { dropboxAdapter } from './backends/dropbox/index.ts'
import { ftpAdapter } from './backends/ftp/index.ts'
import { googleDriveAdapter } from './backends/google-drive/index.ts'
import type { LocalOptions } from './backends/local/config.ts'
import { localAdapter } from './backends/local/index.ts'
import { memoryAdapter } from './backends/memory/index.ts'
import { oneDriveAdapter } from './backends/onedrive/index.ts'
import { s3Adapter } from './backends/s3/index.ts'
import { sftpAdapter } from './backends/sftp/index.ts'
import { webdavAdapter } from './backends/webdav/index.ts'
import type { AdapterDefinition } from './contract.ts'

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
