import { constants, type FileHandle, open } from 'node:fs/promises'
import { StorageError } from '../../contract.ts'

/** The folder of a provider, identified when the provider was opened. */
export interface Root {
  /** The path, with symbolic links resolved. */
  path: string
  dev: bigint
  ino: bigint
}

/**
 * Opens the root and checks that it is still the same directory. Every call does this. One handle for all calls would block
 * unmounting the disk and would write into a renamed or deleted folder. The path alone could lead to the mount point of an
 * unmounted disk, or through a symbolic link that replaced the folder.
 * @throws UNAVAILABLE where the folder is missing or another one
 */
export async function openRoot(root: Root): Promise<FileHandle> {
  const handle = await open(root.path, constants.O_RDONLY | constants.O_DIRECTORY).catch(error => {
    throw rootReplaced(error)
  })
  const identity = await identityOf(handle).catch(async error => {
    await handle.close()
    throw error
  })
  if (isSame(identity, root)) return handle
  await handle.close()
  throw rootReplaced()
}

export async function identityOf(handle: FileHandle): Promise<{ dev: bigint; ino: bigint }> {
  const { dev, ino } = await handle.stat({ bigint: true })
  return { dev, ino }
}

export function isSame(a: { dev: bigint; ino: bigint }, b: { dev: bigint; ino: bigint }): boolean {
  return a.ino === b.ino && a.dev === b.dev
}

function rootReplaced(cause?: unknown): StorageError {
  return new StorageError(
    'UNAVAILABLE',
    'The folder of this storage is not the one that was connected: its disk may be unmounted, or the folder replaced. ' +
      'Bring it back, or test the storage to accept the folder that has this path now.',
    { cause },
  )
}
