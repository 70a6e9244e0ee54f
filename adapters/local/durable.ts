import type { FileHandle } from 'node:fs/promises'
import { hasErrno } from './errors.ts'

/**
 * Makes the names in a directory outlast a power cut: fsync(2) of a file does not. A file system that syncs no directories
 * is left as it is.
 */
export async function syncDirectory(directory: FileHandle): Promise<void> {
  await directory.sync().catch(error => {
    if (!hasErrno(error, 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP')) throw error
  })
}
