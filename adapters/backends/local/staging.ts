import { randomUUID } from 'node:crypto'
import { constants, type FileHandle, lstat, mkdir, open, readdir, rm, rmdir, unlink } from 'node:fs/promises'
import { StorageError } from '../../contract.ts'
import { hasErrno } from './errors.ts'
import { bytesOf, inside, isReserved, self, stagingName } from './names.ts'
import { openChild, release } from './open.ts'

/**
 * A file that has not changed for this many milliseconds belongs to a killed server. A running server writes to its
 * file at least once per MiB.
 */
const leftoverAfterMs = 24 * 60 * 60 * 1000

/** The corresponding time for a resumable upload, which the host usually aborts earlier. */
const unfinishedLeftoverAfterMs = 8 * leftoverAfterMs
export const unfinishedPrefix = 'upload-'

const maxSweep = 10_000

/** The number of attempts to open the folder, as another write may remove it at its end. */
const attempts = 8

/** A file that is not visible yet. */
export interface Staged {
  handle: FileHandle
  folder: FileHandle
  name: string
}

interface StagingOptions {
  /** The directory for the staging folder, in the file system of the destination: the file is renamed or linked there. */
  parent: FileHandle
  /** False to remove the staging folder afterwards, so that it does not remain in a user's directory. */
  keep: boolean
  /** The modification time of the file. Default: now. */
  modifiedAt?: Date | undefined
}

/** Creates a staged file, which `fill` writes and `use` moves to its destination. Removes the file if either fails. */
export async function withStaged<T>(
  options: StagingOptions,
  fill: (handle: FileHandle) => Promise<unknown>,
  use: (staged: Staged) => Promise<T>,
): Promise<T> {
  const staged = await create(options.parent)
  let moved = false
  try {
    await fill(staged.handle)
    // The access time shows that the file is not a leftover: see `removeLeftover`.
    await staged.handle.utimes(uniqueTime(), uniqueTime(options.modifiedAt))
    // Sync the bytes before the name, so that a power cut leaves a whole file or none. NFS reports a full disk only here.
    // datasync() may leave out a time that is not the current one.
    await (options.modifiedAt ? staged.handle.sync() : staged.handle.datasync())
    const result = await use(staged)
    moved = true
    return result
  } finally {
    if (!moved) await unlink(inside(staged.folder, staged.name)).catch(() => {})
    release(staged.folder)
    await staged.handle.close()
    if (!options.keep) await removeStaging(options.parent)
  }
}

export async function create(parent: FileHandle, name: string = randomUUID()): Promise<Staged> {
  const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
  for (let attempt = 1; ; attempt += 1) {
    const folder = await openStaging(parent)
    try {
      return { handle: await open(inside(folder, name), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666), folder, name }
    } catch (error) {
      await folder.close()
      if (!hasErrno(error, 'ENOENT') || attempt === attempts) throw error
    }
  }
}

export async function openStaging(parent: FileHandle): Promise<FileHandle> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openChild(parent, stagingName)
    } catch (error) {
      if (hasErrno(error, 'ENOTDIR', 'ELOOP')) {
        const message = `Something that is not a folder is named ${stagingName}: an operator has to remove it.`
        throw new StorageError('UNAVAILABLE', message, { cause: error })
      }
      if (!hasErrno(error, 'ENOENT') || attempt === attempts) throw error
    }
    await mkdir(inside(parent, stagingName), 0o700).catch(error => {
      if (!hasErrno(error, 'EEXIST')) throw error
    })
  }
}

/** Removes what killed servers left in the staging folder of `parent`. Returns their number. */
export async function sweepStaging(parent: FileHandle, signal: AbortSignal): Promise<number> {
  const staging = await openChild(parent, stagingName).catch(error => {
    if (hasErrno(error, 'ENOENT')) return undefined
    throw error
  })
  if (!staging) return 0
  let removed = 0
  try {
    for (const name of (await readdir(self(staging), { encoding: 'latin1' })).slice(0, maxSweep)) {
      signal.throwIfAborted()
      const after = name.startsWith(unfinishedPrefix) ? unfinishedLeftoverAfterMs : leftoverAfterMs
      if (await removeLeftover(inside(staging, bytesOf(name)), after)) removed += 1
    }
  } finally {
    await staging.close()
  }
  return removed
}

async function removeLeftover(path: string | Buffer, afterMs: number): Promise<boolean> {
  try {
    const { atimeMs, mtimeMs } = await lstat(path)
    // A file that is about to become visible may have an old modification time.
    if (Math.max(atimeMs, mtimeMs) > Date.now() - afterMs) return false
    await rm(path, { recursive: true })
    return true
  } catch (error) {
    // The writer of the file, or another replica, has just removed the file.
    if (hasErrno(error, 'ENOENT')) return false
    throw error
  }
}

/** Removes the staging folder of `parent` if it is empty. Never rejects. */
export async function removeStaging(parent: FileHandle): Promise<void> {
  try {
    await sweepStaging(parent, new AbortController().signal)
    await rmdir(inside(parent, stagingName))
  } catch {
    // The folder is hidden, and the next write or delete here tries again.
  }
}

/**
 * Removes the staging folder of a directory that is otherwise empty. A killed server may have left it, and it would prevent
 * deleting or replacing the directory. Returns true if the caller should try again.
 */
export async function clearStagingOf(parent: FileHandle, name: string): Promise<boolean> {
  const directory = await openChild(parent, name)
  try {
    if (!(await readdir(self(directory), { encoding: 'latin1' })).every(isReserved)) return false
    await removeStaging(directory)
    return true
  } finally {
    await directory.close()
  }
}

let sequence = 0

/** Returns a number of microseconds for `uniqueTime`. */
export function nextMicroseconds(): number {
  // The number is 1 to 998, so that rounding cannot change the milliseconds.
  sequence = (sequence + 1) % 998
  return sequence + 1
}

/**
 * Returns the time in seconds with a unique number of microseconds. The kernel's own times have steps of up to 10 ms and
 * inode numbers are reused, so two files that replace each other within one step could otherwise have the same etag.
 */
export function uniqueTime(time = new Date(), microseconds = nextMicroseconds()): number {
  return time.getTime() / 1000 + microseconds / 1_000_000
}
