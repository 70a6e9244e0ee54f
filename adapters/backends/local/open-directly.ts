/** Opens an entry with one system call where no symbolic link is on its path. */
import type { BigIntStats } from 'node:fs'
import { constants, type FileHandle, open, readlink, stat } from 'node:fs/promises'
import { self } from './names.ts'
import { release } from './release.ts'
import { isSame, type Root } from './root.ts'

/** open(2): a handle that only names the entry. Node has no constant for it. */
const O_PATH = 0o10000000

/** Names an entry of any kind without opening it, even a device. A link at the end of the path is not followed. */
export const nameFlags = O_PATH | constants.O_NOFOLLOW

export const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

export interface Opened {
  /** The caller closes it. */
  handle: FileHandle
  stats: BigIntStats
}

/** Names the entry at a path below the root, so that it can be opened safely. Otherwise as `openDirectly`. */
export function nameDirectly(root: Root, segments: readonly string[]): Promise<Opened | undefined> {
  return openDirectly(root, segments, nameFlags)
}

/** Opens the directory at a path below the root. Otherwise as `openDirectly`. */
export function openDirectoryDirectly(root: Root, segments: readonly string[]): Promise<Opened | undefined> {
  return openDirectly(root, segments, directoryFlags)
}

/**
 * Returns undefined for a path that has to be walked one directory at a time, which also tells what is wrong with it. The
 * kernel follows links in the middle of a path, so the path is compared with the one that the open handle has
 * (proc_pid_fd(5)): they differ if a link was followed, or if a folder was moved or deleted meanwhile. A path that crosses into
 * another file system is walked, too: something may have been mounted since the root was compared.
 *
 * @param flags must open nothing but a directory, because they apply to what a link leads to, perhaps a FIFO or a device
 */
async function openDirectly(root: Root, segments: readonly string[], flags: number): Promise<Opened | undefined> {
  const path = pathOf(root, segments)
  const handle = await open(path, flags).catch(() => undefined)
  if (!handle) return undefined
  const [isThere, stats, top] = await Promise.all([
    isAt(handle, path),
    handle.stat({ bigint: true }).catch(() => undefined),
    stat(root.path, { bigint: true }).catch(() => undefined),
  ])
  if (isThere && stats && top && isSame(top, root) && stats.dev === root.dev) return { handle, stats }
  release(handle)
  return undefined
}

/** Returns whether this is the path of an open file or directory now. */
export async function isAt(handle: FileHandle, path: string): Promise<boolean> {
  // As text, a name that is not UTF-8 would equal one that contains U+FFFD.
  return await readlink(self(handle), 'buffer').then(
    now => now.equals(Buffer.from(path)),
    () => false,
  )
}

/** Returns the system path of an entry. */
export function pathOf(root: Root, segments: readonly string[]): string {
  return [root.path === '/' ? '' : root.path, ...segments].join('/') || '/'
}
