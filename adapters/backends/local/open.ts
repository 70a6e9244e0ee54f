/**
 * Opens directories and names entries below the root of a provider, and never follows a symbolic link. A path is opened with one
 * system call where no link is on it, else one directory at a time.
 */
import type { BigIntStats } from 'node:fs'
import { constants, type FileHandle, mkdir, open, readlink, rmdir, stat } from 'node:fs/promises'
import { notFound } from '../../bases/errors.ts'
import { StorageError } from '../../contract.ts'
import { hasErrno } from './errors.ts'
import { inside, self } from './names.ts'

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
async function openRoot(root: Root): Promise<FileHandle> {
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

/** Does the same as `openDirectly` with a handle that only names the entry (O_PATH), so that it can be opened safely. */
export function nameDirectly(root: Root, segments: readonly string[]): Promise<Opened | undefined> {
  return openDirectly(root, segments, nameFlags)
}

/** Does the same as `openDirectly` for a directory. */
function openDirectoryDirectly(root: Root, segments: readonly string[]): Promise<Opened | undefined> {
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

/** The number of attempts to create and open a directory, as another client may remove it in between. */
const attempts = 8

export function openChild(directory: FileHandle, name: string | Buffer): Promise<FileHandle> {
  return open(inside(directory, name), directoryFlags)
}

interface Deepest {
  /** The caller closes it. */
  directory: FileHandle
  /** The number of segments of its path. */
  depth: number
}

/** Opens the deepest existing directory of a path. */
export async function openDeepest(root: Root, segments: readonly string[], signal: AbortSignal): Promise<Deepest> {
  const start = await openRoot(root)
  if (segments.length === 0) return { directory: start, depth: 0 }
  try {
    return await openDeepestFrom(start, segments, signal)
  } finally {
    await start.close()
  }
}

/** Opens one directory at a time, because Node cannot refuse symbolic links in the middle of a path. Leaves `start` open. */
export async function openDeepestFrom(
  start: FileHandle,
  segments: readonly string[],
  signal: AbortSignal,
): Promise<Deepest> {
  let directory: FileHandle | undefined
  let closing: Promise<unknown> = Promise.resolve()
  let depth = 0
  try {
    for (const segment of segments) {
      signal.throwIfAborted()
      const child = await openChild(directory ?? start, segment)
      closing = Promise.all([closing, directory?.close()])
      directory = child
      depth += 1
    }
  } catch (error) {
    if (!hasErrno(error, 'ENOENT')) {
      await directory?.close()
      throw error
    }
  } finally {
    await closing
  }
  return { directory: directory ?? (await openChild(start, '.')), depth }
}

/** Opens a directory for `use` and closes it afterwards. @throws NOT_FOUND also where a segment is a file or a link */
export async function withDirectory<T>(
  root: Root,
  segments: readonly string[],
  signal: AbortSignal,
  use: (directory: FileHandle) => Promise<T>,
): Promise<T> {
  const direct = segments.length === 0 ? undefined : await openDirectoryDirectly(root, segments)
  if (direct) {
    try {
      return await use(direct.handle)
    } finally {
      release(direct.handle)
    }
  }
  const { directory, depth } = await openDeepest(root, segments, signal).catch(error => {
    throw hasErrno(error, 'ENOTDIR', 'ELOOP') ? notFound(error) : error
  })
  try {
    if (depth < segments.length) throw notFound()
    return await use(directory)
  } finally {
    release(directory)
  }
}

/** Like `withDirectory`, but creates missing directories, and removes them again if `use` fails. */
export async function withCreatedDirectory<T>(
  root: Root,
  segments: readonly string[],
  signal: AbortSignal,
  use: (directory: FileHandle) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryInCreatedDirectory(root, segments, signal, use)
    } catch (error) {
      if (!hasErrno(error, 'ENOENT') || attempt === attempts) throw error
    }
  }
}

async function tryInCreatedDirectory<T>(
  root: Root,
  segments: readonly string[],
  signal: AbortSignal,
  use: (directory: FileHandle) => Promise<T>,
): Promise<T> {
  const deepest = await openDeepest(root, segments, signal)
  let directory = deepest.directory
  let depth = deepest.depth
  let made = 0
  try {
    for (const segment of segments.slice(depth)) {
      signal.throwIfAborted()
      const isNew = await makeDirectory(directory, segment)
      depth += 1
      made = isNew ? made + 1 : 0
      const child = await openChild(directory, segment)
      await directory.close()
      directory = child
    }
    return await use(directory)
  } catch (error) {
    await removeEmpty(root, segments.slice(0, depth), made)
    throw error
  } finally {
    await directory.close()
  }
}

/** Returns false if the name exists. */
export async function makeDirectory(directory: FileHandle, name: string): Promise<boolean> {
  try {
    await mkdir(inside(directory, name))
  } catch (error) {
    if (hasErrno(error, 'EEXIST')) return false
    throw error
  }
  await syncDirectory(directory)
  return true
}

/** Removes the last `count` directories of the path, deepest first. Stops at one that is not empty. Never rejects. */
async function removeEmpty(root: Root, segments: readonly string[], count: number): Promise<void> {
  const anyway = new AbortController().signal
  try {
    for (let end = segments.length; end > segments.length - count; end -= 1) {
      const name = segments[end - 1] ?? ''
      await withDirectory(root, segments.slice(0, end - 1), anyway, parent => rmdir(inside(parent, name)))
    }
  } catch {
    // An empty folder may remain. The caller needs the error that made the call fail.
  }
}

/**
 * Makes the names in a directory survive a power cut, which fsync(2) of a file does not do. Does nothing on a file system that
 * cannot sync directories.
 */
export async function syncDirectory(directory: FileHandle): Promise<void> {
  await directory.sync().catch(error => {
    if (!hasErrno(error, 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP')) throw error
  })
}

/**
 * Closes a handle that was only read, without waiting: closing such a handle cannot fail. Call this only after all calls with a
 * path below the handle have settled.
 */
export function release(handle: FileHandle): void {
  handle.close().catch(() => {})
}
