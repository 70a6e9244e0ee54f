import { type FileHandle, mkdir, open, rmdir } from 'node:fs/promises'
import { syncDirectory } from './durable.ts'
import { hasErrno, notFound } from './errors.ts'
import { inside } from './names.ts'
import { directoryFlags, openDirectoryDirectly } from './open-directly.ts'
import { release } from './release.ts'
import { openRoot, type Root } from './root.ts'

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
