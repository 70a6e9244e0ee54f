/** The staged file of an upload that continues in later calls. */
import { type FileHandle, rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { StorageError, type StoragePath } from '../../contract.ts'
import { hasErrno, toStorageError } from './errors.ts'
import { inside, splitPath } from './names.ts'
import { type Root, withDirectory } from './open.ts'
import { openStaging, removeStaging, unfinishedPrefix, uniqueTime } from './staging.ts'

/** Follows `unfinishedPrefix`. */
const idPattern = /^[0-9a-f-]{36}$/

export interface UploadState {
  path: StoragePath
  /** The name of the staged file. */
  name: string
  /**
   * True if it is staged in the parent folder, which is on another disk than the root; false if it is staged in the
   * root.
   */
  beside: boolean
  /** The number of bytes on the disk. */
  offset: number
  /** The modification time of the file, in milliseconds since 1970. */
  time?: number
}

/** @throws NOT_FOUND */
export function parseState(text: string): UploadState {
  try {
    const state = JSON.parse(text) as UploadState
    const isNamed = state.name.startsWith(unfinishedPrefix) && idPattern.test(uploadId(state))
    if (isNamed && Number.isSafeInteger(state.offset)) return state
  } catch {
    // Reject below.
  }
  throw uploadNotFound()
}

/** Returns the id of an upload: a UUID. */
export function uploadId({ name }: UploadState): string {
  return name.slice(unfinishedPrefix.length)
}

/** The folder for the parts of an upload, next to its staged file. */
export function partsFolder({ name }: UploadState): string {
  return `${name}.parts`
}

/** Opens the staging folder of an upload for `use`. @param use.parent the directory with the staging folder */
export async function withUploadFolder<T>(
  root: Root,
  { path, beside }: UploadState,
  signal: AbortSignal,
  use: (folder: FileHandle, parent: FileHandle) => Promise<T>,
): Promise<T> {
  return await withDirectory(root, beside ? splitPath(path).parents : [], signal, async parent => {
    const folder = await openStaging(parent)
    try {
      return await use(folder, parent)
    } finally {
      await folder.close()
    }
  })
}

/** Cuts the staged file to `size` bytes, and syncs it with its modification time. */
export async function endFile(handle: FileHandle, size: number, { time }: UploadState): Promise<void> {
  // An earlier call, repeated with fewer bytes, may have left more bytes in the file.
  await handle.truncate(size)
  await handle.utimes(uniqueTime(), uniqueTime(time === undefined ? undefined : new Date(time)))
  // fdatasync(2) need not store the times.
  await (time === undefined ? handle.datasync() : handle.sync())
}

/** Removes what is left of an upload that has ended. */
export async function removeUpload(folder: FileHandle, parent: FileHandle, state: UploadState): Promise<void> {
  for (const name of [state.name, partsFolder(state)]) await rm(inside(folder, name), { recursive: true, force: true })
  if (state.beside) await removeStaging(parent)
}

/** Destroys the body when `work` fails. Rejects with an error of the body unchanged. */
export async function reading<T>(body: Readable, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    body.destroy()
    throw error === body.errored ? error : toStorageError(error)
  }
}

/** @throws UNAVAILABLE */
export function requireWhole(bytes: number, size: number): void {
  if (bytes === size) return
  throw new StorageError('UNAVAILABLE', `${bytes} of ${size} bytes arrived: send them again.`)
}

/** Reports a missing file of an upload as a missing upload. @throws NOT_FOUND; any other error unchanged */
export function failMissing(error: unknown): never {
  throw hasErrno(error, 'ENOENT') ? uploadNotFound(error) : error
}

export function uploadNotFound(cause?: unknown): StorageError {
  return new StorageError('NOT_FOUND', 'There is no such upload: begin again.', { cause })
}
