/** Uploads that continue in later calls, in a staged file. `parts.ts` stores parts that arrive in any order. */
import { randomUUID } from 'node:crypto'
import { constants, type FileHandle, open, rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { requireBytes, requireOffset, uploadNotFound } from '../../bases/errors.ts'
import { parseJson } from '../../bases/upload-state.ts'
import type { Call, Entry, ResumableWrites, StoragePath } from '../../contract.ts'
import { hasErrno, toStorageError, withStorageErrors } from './errors.ts'
import { inside, splitPath } from './names.ts'
import { identityOf, openDeepest, type Root, withDirectory } from './open.ts'
import { keeperOf } from './preserve.ts'
import { create, openStaging, removeStaging, type Staged, unfinishedPrefix, uniqueTime } from './staging.ts'
import { endPublished, publishAt, writeBody } from './write.ts'

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
  const { name, offset, ...rest } = parseJson(text)
  const isNamed = typeof name === 'string' && name.startsWith(unfinishedPrefix) && idPattern.test(uploadId({ name }))
  if (isNamed && Number.isSafeInteger(offset)) return { ...rest, name, offset } as UploadState
  throw uploadNotFound()
}

/** Returns the id of an upload: a UUID. */
export function uploadId({ name }: Pick<UploadState, 'name'>): string {
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

/** Reports a missing file of an upload as a missing upload. @throws NOT_FOUND; any other error unchanged */
export function failMissing(error: unknown): never {
  throw hasErrno(error, 'ENOENT') ? uploadNotFound(error) : error
}

/** Writes bytes once, to a staged file on the disk of the destination. Completing the upload renames that file. */
export function resumableWrites(root: Root): Omit<ResumableWrites, 'parts'> {
  return {
    partSize: 1,

    begin: (path, { signal, modifiedAt }) =>
      withStorageErrors(async () => {
        signal.throwIfAborted()
        const { parents } = splitPath(path)
        const beside = await isOtherDisk(root, parents, signal)
        const name = `${unfinishedPrefix}${randomUUID()}`
        await withDirectory(root, beside ? parents : [], signal, async parent => {
          const staged = await create(parent, name)
          await Promise.all([staged.handle.close(), staged.folder.close()])
        })
        const time = modifiedAt && { time: modifiedAt.getTime() }
        return JSON.stringify({ path, name, beside, offset: 0, ...time } satisfies UploadState)
      }),

    append: (text, body, options) =>
      reading(body, async () => {
        const state = parseState(text)
        return await withUnfinished(root, state, options.signal, async ({ handle }) => {
          // The file is visible already.
          if ((await handle.stat()).nlink > 1) throw uploadNotFound()
          const end = await add(handle, state, body, options)
          // An acknowledged append must survive a power cut.
          await handle.datasync()
          return JSON.stringify({ ...state, offset: end } satisfies UploadState)
        })
      }),

    complete: (text, body, options) =>
      reading(body, async () => {
        const state = parseState(text)
        const { signal, overwrite } = options
        const destination = { root, ...splitPath(state.path), overwrite, keep: keeperOf(root, options), signal }
        return await withUnfinished(root, state, signal, async (staged, parent): Promise<Entry> => {
          const published = await endPublished(staged, destination.name)
          if (published) return published
          const end = await add(staged.handle, state, body, options)
          await endFile(staged.handle, end, state)
          const entry = await publishAt(staged, destination, undefined)
          if (state.beside) await removeStaging(parent)
          return entry
        })
      }),

    abort: (text, { signal }) =>
      withStorageErrors(async () => {
        signal.throwIfAborted()
        const state = parseState(text)
        await withUploadFolder(root, state, signal, (folder, parent) => removeUpload(folder, parent, state))
      }).catch(error => {
        if (!hasErrno(error, 'NOT_FOUND')) throw error
      }),
  }
}

/** Writes the body at `offset`. Returns the position after the last byte. */
async function add(
  handle: FileHandle,
  state: UploadState,
  body: Readable,
  { signal, offset, size }: Call & { offset: number; size: number },
): Promise<number> {
  requireOffset(offset, state.offset)
  const end = await writeBody(handle, body, signal, offset)
  requireBytes(end - offset, size)
  return end
}

async function isOtherDisk(root: Root, parents: readonly string[], signal: AbortSignal): Promise<boolean> {
  const { directory, depth } = await openDeepest(root, parents, signal)
  try {
    return depth === parents.length && (await identityOf(directory)).dev !== root.dev
  } finally {
    await directory.close()
  }
}

/** Opens the staged file of an upload for `use`. @throws NOT_FOUND for a missing upload */
async function withUnfinished<T>(
  root: Root,
  state: UploadState,
  signal: AbortSignal,
  use: (staged: Staged, parent: FileHandle) => Promise<T>,
): Promise<T> {
  const { name, offset } = state
  return await withUploadFolder(root, state, signal, async (folder, parent) => {
    const { O_RDWR, O_NOFOLLOW } = constants
    const handle = await open(inside(folder, name), O_RDWR | O_NOFOLLOW).catch(failMissing)
    try {
      if ((await handle.stat()).size < offset) throw uploadNotFound()
      return await use({ handle, folder, name }, parent)
    } finally {
      await handle.close()
    }
  })
}
