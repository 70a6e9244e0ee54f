/** Opens an entry with one system call where no symbolic link is on its path. */
import type { BigIntStats } from 'node:fs'
import { constants, type FileHandle, open, readlink, stat } from 'node:fs/promises'
import { self } from './names.ts'
import { isSame, type Root } from './root.ts'

/** open(2): a handle that only names the entry. Node has no constant for it, and the number differs between platforms. */
const O_PATH = process.platform === 'linux' && process.arch !== 'mips' ? 0o10000000 : undefined

/** Names an entry of any kind, without opening it: a link is not followed, and a FIFO does not block. */
export const nameOnly = O_PATH === undefined ? undefined : O_PATH | constants.O_NOFOLLOW

export const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

export interface Opened {
  /** The caller closes it. */
  handle: FileHandle
  stats: BigIntStats
}

/**
 * Opens a path below the root, or returns undefined if it has to be walked one directory at a time, which also tells what
 * is wrong with it. The kernel follows links in the middle of a path, so the path is compared with the one that the open
 * handle has (proc_pid_fd(5)): they differ if a link was followed, or if a folder was moved or deleted meanwhile. A path that
 * crosses into another file system is walked, too: something may have been mounted since the root was compared.
 *
 * @param flags of open(2), with O_NOFOLLOW
 */
export async function openDirectly(
  root: Root,
  segments: readonly string[],
  flags: number,
): Promise<Opened | undefined> {
  const path = pathOf(root, segments)
  const handle = await open(path, flags).catch(() => undefined)
  if (!handle) return undefined
  const [link, stats, top] = await Promise.all([
    readlink(self(handle)).catch(() => undefined),
    handle.stat({ bigint: true }).catch(() => undefined),
    stat(root.path, { bigint: true }).catch(() => undefined),
  ])
  if (link === path && stats && top && isSame(top, root) && stats.dev === root.dev) return { handle, stats }
  await handle.close()
  return undefined
}

function pathOf(root: Root, segments: readonly string[]): string {
  const top = root.path === '/' ? '' : root.path
  return segments.length === 0 ? root.path : `${top}/${segments.join('/')}`
}
