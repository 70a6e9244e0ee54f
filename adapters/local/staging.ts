import { randomUUID } from 'node:crypto'
import { constants, type FileHandle, lstat, mkdir, open, readdir, rmdir, unlink } from 'node:fs/promises'
import { StorageError } from '../contract.ts'
import { hasErrno } from './errors.ts'
import { bytesOf, inside, isReserved, self, stagingName } from './names.ts'
import { openChild } from './walk.ts'

/** A server that was killed leaves its unfinished writes; one that lives touches its own at each MiB. */
const leftoverAfterMs = 24 * 60 * 60 * 1000

/** An upload that goes on in several requests is given up by the host; this is for one of which nobody knows any more. */
const unfinishedLeftoverAfterMs = 8 * leftoverAfterMs
export const unfinishedPrefix = 'upload-'

const maxSweep = 10_000

/** Another write that has just ended may remove the folder that we have just found. */
const attempts = 8

/** A file that nobody can see yet. */
export interface Staged {
  handle: FileHandle
  folder: FileHandle
  name: string
}

interface StagingPlace {
  /** In the file system where the file will end up, as it is renamed or linked there. */
  parent: FileHandle
  /** False for a folder that would otherwise litter a directory of the user's. */
  keep: boolean
}

/** `use` moves the staged file away by its name; where it or `fill` fails, the file is removed. */
export async function withStaged<T>(
  place: StagingPlace,
  fill: (handle: FileHandle) => Promise<unknown>,
  use: (staged: Staged) => Promise<T>,
): Promise<T> {
  const staged = await create(place.parent)
  let moved = false
  try {
    await fill(staged.handle)
    const modifiedAt = uniqueTime()
    await staged.handle.utimes(modifiedAt, modifiedAt)
    // Before the name: after a power cut the file is there whole or not at all. Also where NFS first tells of a full disk.
    await staged.handle.datasync()
    const result = await use(staged)
    moved = true
    return result
  } finally {
    if (!moved) await unlink(inside(staged.folder, staged.name)).catch(() => {})
    await Promise.all([staged.handle.close(), staged.folder.close()])
    if (!place.keep) await removeStaging(place.parent)
  }
}

let sequence = 0

/**
 * Seconds; no two in the same microsecond. The kernel's own times move in steps of up to 10 ms and inode numbers come
 * back, so two files that replace each other within one step could otherwise get the same etag.
 */
export function uniqueTime(): number {
  sequence = (sequence + 1) % 1000
  return Date.now() / 1000 + sequence / 1_000_000
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

/** Removes what killed servers have left in the staging folder of `parent`; returns how many files that were. */
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
    if ((await lstat(path)).mtimeMs > Date.now() - afterMs) return false
    await unlink(path)
    return true
  } catch (error) {
    // Its writer, or another replica's sweep, was faster.
    if (hasErrno(error, 'ENOENT')) return false
    throw error
  }
}

/** Removes the staging folder of `parent`, unless there is none or a write is under way in it. */
export async function removeStaging(parent: FileHandle): Promise<void> {
  try {
    await sweepStaging(parent, new AbortController().signal)
    await rmdir(inside(parent, stagingName))
  } catch {
    // It is hidden, and the next write or delete here tries again.
  }
}

/**
 * What a killed server left in a hidden folder must not make a directory that looks empty impossible to delete or
 * replace. Returns whether trying again makes sense.
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
