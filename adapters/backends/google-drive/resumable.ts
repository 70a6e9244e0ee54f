import type { Readable } from 'node:stream'
import { requireWithin, unsent } from '../../bases/cloud/chunks.ts'
import { hasCode, notAFile } from '../../bases/cloud/failure.ts'
import { withStorageErrors } from '../../bases/cloud/http.ts'
import { nameOf, type ResumableWrites, StorageError, type StoragePath, segmentsOf } from '../../contract.ts'
import { type BegunUpload, Completion } from './completion.ts'
import { fileToWrite, refuseOver, refuseTooLarge, type Tree } from './destination.ts'
import { toEntry } from './entry.ts'
import { google } from './errors.ts'
import { isTemporary, temporaryName, toStored } from './names.ts'
import { chunkSize, UploadSession } from './upload.ts'

interface State extends BegunUpload {
  /** Bytes received so far. */
  offset: number
}

/**
 * A session of Drive creates its file with the last byte, in the folder and under the name that the session began with. If the
 * folder does not exist yet, the session begins in the last existing folder of the path, under a temporary name that listings
 * leave out.
 */
export function resumableWrites(tree: Tree): ResumableWrites {
  const { files } = tree
  return {
    partSize: chunkSize,

    begin: (path, { signal, size, mimeType, modifiedAt }) =>
      withStorageErrors(google, signal, async () => {
        if (path === '') throw notAFile()
        const segments = segmentsOf(path)
        const { file: existing, parent: known } = await tree.ids.locate(segments, signal, 'verified')
        // Fail before the bytes are sent if they can never replace the existing entry.
        refuseOver(existing, true)
        const parent = known ?? (await tree.folders.deepest(segments.slice(0, -1), signal))
        const name = known === undefined ? temporaryName : () => toStored(nameOf(path))
        if (size !== undefined) await refuseTooLarge(files, size, signal)
        const written = await fileToWrite(files, { existing, parent, name }, { mimeType, modifiedAt, signal })
        const { url } = await UploadSession.begin(files, written, signal)
        return format({ path, url, id: written.id, isNew: written.isNew, parent, offset: 0 })
      }),

    append: (text, body, options) =>
      reading(body, options.signal, async () => {
        const { signal, offset, size } = options
        const state = parse(text, offset)
        const session = UploadSession.of(files, state.url)
        // The bytes of a repeated call may have arrived before, wholly or in part.
        const { file, received } = await session.status(signal)
        requireWithin(file ? Number.NaN : received, options)
        for await (const { bytes } of unsent(body, { ...options, chunkSize }, received)) {
          if (bytes.length > 0) await session.send({ bytes, isLast: false }, signal)
        }
        return format({ ...state, offset: offset + size })
      }),

    complete: (text, body, options) =>
      reading(body, options.signal, async () => {
        const state = parse(text, options.offset)
        return toEntry(nameOf(state.path), await new Completion(tree, state, options).run(body))
      }),

    abort: (text, { signal }) =>
      withStorageErrors(google, signal, async () => {
        const state = tryParse(text)
        if (!state) return
        const session = UploadSession.of(files, state.url)
        const isOpen = await session.status(signal).then(
          ({ file }) => file === undefined,
          error => {
            if (!hasCode(error, 'NOT_FOUND')) throw error
            return false
          },
        )
        if (isOpen) return await session.end(signal)
        // A finished file stays, unless `complete` failed while it had its temporary name.
        const file = state.isNew ? await files.find(state.id, signal) : undefined
        if (file && isTemporary(file)) await files.undo(file.id)
      }),
  }
}

/** Destroys the body when `work` fails. */
async function reading<T>(body: Readable, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await withStorageErrors(google, signal, work)
  } catch (error) {
    body.destroy()
    throw error
  }
}

/** Encodes the path in base64url, since JSON could escape it to more than the maximum length of a state. */
function format({ path, ...rest }: State): string {
  return JSON.stringify({ path: Buffer.from(path).toString('base64url'), ...rest })
}

function tryParse(text: string): State | undefined {
  try {
    const { path, ...rest } = JSON.parse(text)
    const isValid = [path, rest.url, rest.id, rest.parent].every(value => typeof value === 'string')
    if (!isValid || !Number.isSafeInteger(rest.offset)) return undefined
    return { ...rest, path: Buffer.from(path, 'base64url').toString() as StoragePath }
  } catch {
    return undefined
  }
}

/** @throws NOT_FOUND, PRECONDITION_FAILED */
function parse(text: string, offset: number): State {
  const state = tryParse(text)
  if (!state) throw new StorageError('NOT_FOUND', 'There is no such upload: begin again.')
  if (offset === state.offset) return state
  throw new StorageError('PRECONDITION_FAILED', `The upload has ${state.offset} bytes: continue from there.`)
}
