import { randomUUID } from 'node:crypto'
import { constants, type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type Call, type Entry, type ResumableWrites, StorageError } from '../../contract.ts'
import { hasErrno, withStorageErrors } from './errors.ts'
import { inside, splitPath } from './names.ts'
import { identityOf, openDeepest, type Root, withDirectory } from './open.ts'
import { partWrites } from './parts.ts'
import { create, removeStaging, type Staged, unfinishedPrefix } from './staging.ts'
import {
  endFile,
  failMissing,
  parseState,
  reading,
  removeUpload,
  requireWhole,
  type UploadState,
  uploadNotFound,
  withUploadFolder,
} from './unfinished.ts'
import { publishAt, writeBody } from './write.ts'

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
        return JSON.stringify({ path, name, beside, offset: 0, ...time } satisfies UploadState)
      }),

    append: (text, body, options) =>
      reading(body, async () => {
        const state = parseState(text)
        return await withUnfinished(root, state, options.signal, async ({ handle }) => {
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
        const destination = { root, ...splitPath(state.path), overwrite, signal }
        return await withUnfinished(root, state, signal, async (staged, parent): Promise<Entry> => {
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

    parts: partWrites(root),
  }
}

/** Writes the body at `offset`. Returns the position after the last byte. */
async function add(
  handle: FileHandle,
  state: UploadState,
  body: Readable,
  { signal, offset, size }: Call & { offset: number; size: number },
): Promise<number> {
  if (offset !== state.offset) {
    throw new StorageError('PRECONDITION_FAILED', `The upload has ${state.offset} bytes: continue from there.`)
  }
  const end = await writeBody(handle, body, signal, offset)
  requireWhole(end - offset, size)
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
