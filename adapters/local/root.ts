import { constants, type FileHandle, open } from 'node:fs/promises'
import { StorageError } from '../contract.ts'

/** The folder of a provider, as it was when the provider was opened. */
export interface Root {
  /** Without symbolic links. */
  path: string
  dev: bigint
  ino: bigint
}

/**
 * Opened anew by each call, and only if it still is the directory it was: a handle held for good would keep a disk from
 * being unmounted and go on writing into a folder that was renamed or deleted, and the path alone would lead to the bare
 * mount point of a disk that is gone, or wherever a symbolic link put in its place points.
 */
export async function openRoot(root: Root): Promise<FileHandle> {
  const handle = await open(root.path, constants.O_RDONLY | constants.O_DIRECTORY).catch(error => {
    throw gone(error)
  })
  const identity = await identityOf(handle).catch(async error => {
    await handle.close()
    throw error
  })
  if (isSame(identity, root)) return handle
  await handle.close()
  throw gone()
}

export async function identityOf(handle: FileHandle): Promise<{ dev: bigint; ino: bigint }> {
  const { dev, ino } = await handle.stat({ bigint: true })
  return { dev, ino }
}

export function isSame(a: { dev: bigint; ino: bigint }, b: { dev: bigint; ino: bigint }): boolean {
  return a.ino === b.ino && a.dev === b.dev
}

function gone(cause?: unknown): StorageError {
  return new StorageError(
    'UNAVAILABLE',
    'The folder of this provider is not the one that was connected: its disk may be unmounted, or the folder replaced. ' +
      'Bring it back, or test the provider to accept the folder that is there now.',
    { cause },
  )
}
