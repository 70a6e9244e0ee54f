import type { FileHandle } from 'node:fs/promises'
import { hasErrno } from './errors.ts'

/**
 * Makes the names in a directory survive a power cut, which fsync(2) of a file does not do. Does nothing on a file system that
 * cannot sync directories.
 */
export async function syncDirectory(directory: FileHandle): Promise<void> {
  await directory.sync().catch(error => {
    if (!hasErrno(error, 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP')) throw error
  })
}
