import { randomUUID } from 'node:crypto'
import { constants, type FileHandle, open, unlink } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type Call, type Entry, type ResumableWrites, StorageError, type StoragePath } from '../contract.ts'
import { hasErrno, toStorageError, translated } from './errors.ts'
import { inside, splitPath } from './names.ts'
import { identityOf, type Root } from './root.ts'
import { create, openStaging, removeStaging, type Staged, unfinishedPrefix, uniqueTime } from './staging.ts'
import { publishAt } from './store.ts'
import { openDeepest, withDirectory } from './walk.ts'
import { writeBody } from './write.ts'

/** Follows `unfinishedPrefix`. */
const idPattern = /^[0-9a-f-]{36}$/

interface State {
  path: StoragePath
  /** Of the staged file. */
  name: string
  /** On another disk, mounted below the root, it is staged in the folder of the file; else in the root. */
  beside: boolean
  /** Bytes that are on the disk. */
  offset: number
}

/** Bytes are written once, into a staged file on the disk where the file will be: its completion is a rename. */
export function resumableWrites(root: Root): ResumableWrites {
  return {
    partSize: 1,

    begin: (path, { signal }) =>
      translated(async () => {
        signal.throwIfAborted()
        const { parents } = splitPath(path)
        const beside = await isOtherDisk(root, parents, signal)
        const name = `${unfinishedPrefix}${randomUUID()}`
        await withDirectory(root, beside ? parents : [], signal, async parent => {
          const staged = await create(parent, name)
          await Promise.all([staged.handle.close(), staged.folder.close()])
        })
        return JSON.stringify({ path, name, beside, offset: 0 } satisfies State)
      }),

    append: (text, body, options) =>
      taking(body, async () => {
        const state = parse(text)
        return await withUnfinished(root, state, options.signal, async ({ handle }) => {
          const end = await add(handle, state, body, options)
          // Before it is acknowledged: a power cut must not take it back.
          await handle.datasync()
          return JSON.stringify({ ...state, offset: end } satisfies State)
        })
      }),

    complete: (text, body, options) =>
      taking(body, async () => {
        const state = parse(text)
        const { signal, overwrite } = options
        const target = { root, ...splitPath(state.path), overwrite, signal }
        return await withUnfinished(root, state, signal, async (staged, parent): Promise<Entry> => {
          const end = await add(staged.handle, state, body, options)
          // An append that was repeated with less may have left more.
          await staged.handle.truncate(end)
          const modifiedAt = uniqueTime()
          await staged.handle.utimes(modifiedAt, modifiedAt)
          await staged.handle.datasync()
          const entry = await publishAt(staged, target, undefined)
          if (state.beside) await removeStaging(parent)
          return entry
        })
      }),

    abort: (text, { signal }) =>
      translated(async () => {
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

/** Resolves with the position after the last byte. */
async function add(
  handle: FileHandle,
  state: State,
  body: Readable,
  { signal, offset, size }: Call & { offset: number; size: number },
): Promise<number> {
  if (offset !== state.offset) {
    throw new StorageError('PRECONDITION_FAILED', `The upload stands at ${state.offset} bytes: go on from there.`)
  }
  const end = await writeBody(handle, body, signal, offset)
  if (end !== offset + size) {
    const message = `${end - offset} bytes came where ${size} were announced: send them again.`
    throw new StorageError('UNAVAILABLE', message)
  }
  return end
}

/** An error of the body stays as it is. */
async function taking<T>(body: Readable, work: () => Promise<T>): Promise<T> {
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

/** @throws NOT_FOUND for an upload that is gone */
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
        throw hasErrno(error, 'ENOENT') ? unknown(error) : error
      })
      try {
        if ((await handle.stat()).size < offset) throw unknown()
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
    // As below.
  }
  throw unknown()
}

function unknown(cause?: unknown): StorageError {
  return new StorageError('NOT_FOUND', 'The upload is not known: begin again.', { cause })
}
