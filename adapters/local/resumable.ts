import { randomUUID } from 'node:crypto'
import { constants, type FileHandle, open, unlink } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type Call, type Entry, type ResumableWrites, StorageError, type StoragePath } from '../contract.ts'
import { hasErrno, toStorageError, withStorageErrors } from './errors.ts'
import { inside, splitPath } from './names.ts'
import { identityOf, type Root } from './root.ts'
import { create, openStaging, removeStaging, type Staged, unfinishedPrefix } from './staging.ts'
import { publishAt } from './store.ts'
import { uniqueTime } from './unique-time.ts'
import { openDeepest, withDirectory } from './walk.ts'
import { writeBody } from './write.ts'

/** Follows `unfinishedPrefix`. */
const idPattern = /^[0-9a-f-]{36}$/

interface State {
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

/** Writes bytes once, to a staged file on the disk of the destination. Completing the upload renames that file. */
export function resumableWrites(root: Root): ResumableWrites {
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
        return JSON.stringify({ path, name, beside, offset: 0, ...time } satisfies State)
      }),

    append: (text, body, options) =>
      reading(body, async () => {
        const state = parse(text)
        return await withUnfinished(root, state, options.signal, async ({ handle }) => {
          const end = await add(handle, state, body, options)
          // An acknowledged append must survive a power cut.
          await handle.datasync()
          return JSON.stringify({ ...state, offset: end } satisfies State)
        })
      }),

    complete: (text, body, options) =>
      reading(body, async () => {
        const state = parse(text)
        const { signal, overwrite } = options
        const destination = { root, ...splitPath(state.path), overwrite, signal }
        return await withUnfinished(root, state, signal, async (staged, parent): Promise<Entry> => {
          const end = await add(staged.handle, state, body, options)
          // An earlier append, repeated with fewer bytes, may have left more bytes in the file.
          await staged.handle.truncate(end)
          const { time } = state
          await staged.handle.utimes(uniqueTime(), uniqueTime(time === undefined ? undefined : new Date(time)))
          // fdatasync(2) need not store the times.
          await (time === undefined ? staged.handle.datasync() : staged.handle.sync())
          const entry = await publishAt(staged, destination, undefined)
          if (state.beside) await removeStaging(parent)
          return entry
        })
      }),

    abort: (text, { signal }) =>
      withStorageErrors(async () => {
        signal.throwIfAborted()
        const state = parse(text)
        await withUnfinished(root, state, signal, async ({ folder, name }, parent) => {
          await unlink(inside(folder, name))
          if (state.beside) await removeStaging(parent)
        })
      }).catch(error => {
        if (!hasErrno(error, 'NOT_FOUND')) throw error
      }),
  }
}

/** Writes the body at `offset`. Returns the position after the last byte. */
async function add(
  handle: FileHandle,
  state: State,
  body: Readable,
  { signal, offset, size }: Call & { offset: number; size: number },
): Promise<number> {
  if (offset !== state.offset) {
    throw new StorageError('PRECONDITION_FAILED', `The upload has ${state.offset} bytes: continue from there.`)
  }
  const end = await writeBody(handle, body, signal, offset)
  if (end !== offset + size) {
    const message = `${end - offset} of ${size} bytes arrived: send them again.`
    throw new StorageError('UNAVAILABLE', message)
  }
  return end
}

/** Destroys the body when `work` fails. Rejects with an error of the body unchanged. */
async function reading<T>(body: Readable, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    body.destroy()
    throw error === body.errored ? error : toStorageError(error)
  }
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
  { path, name, beside, offset }: State,
  signal: AbortSignal,
  use: (staged: Staged, parent: FileHandle) => Promise<T>,
): Promise<T> {
  return await withDirectory(root, beside ? splitPath(path).parents : [], signal, async parent => {
    const folder = await openStaging(parent)
    try {
      const { O_RDWR, O_NOFOLLOW } = constants
      const handle = await open(inside(folder, name), O_RDWR | O_NOFOLLOW).catch(error => {
        throw hasErrno(error, 'ENOENT') ? uploadNotFound(error) : error
      })
      try {
        if ((await handle.stat()).size < offset) throw uploadNotFound()
        return await use({ handle, folder, name }, parent)
      } finally {
        await handle.close()
      }
    } finally {
      await folder.close()
    }
  })
}

function parse(text: string): State {
  try {
    const state = JSON.parse(text) as State
    const isNamed = state.name.startsWith(unfinishedPrefix) && idPattern.test(state.name.slice(unfinishedPrefix.length))
    if (isNamed && Number.isSafeInteger(state.offset)) return state
  } catch {
    // Reject below.
  }
  throw uploadNotFound()
}

function uploadNotFound(cause?: unknown): StorageError {
  return new StorageError('NOT_FOUND', 'There is no such upload: begin again.', { cause })
}
