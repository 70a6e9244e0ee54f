import type { Readable } from 'node:stream'
import { nameOf, type ResumableWrites, StorageError, type StoragePath, segmentsOf } from '../contract.ts'
import { chunkSize, requireWithin, unsent } from './chunks.ts'
import { type Begun, Completion } from './completion.ts'
import { refuseOver, refuseTooLarge, type Tree, targetFor } from './destination.ts'
import { toEntry } from './entry.ts'
import { hasCode, notAFile } from './errors.ts'
import { withStorageErrors } from './files.ts'
import { asideName, isAside, toStored } from './names.ts'
import { UploadSession } from './upload.ts'

interface State extends Begun {
  /** Bytes received so far. */
  offset: number
}

/**
 * A session of Drive shows its file with the last byte, in the folder and under the name that it was begun with. Where that
 * folder is not there yet, it is begun aside: under a name that is not shown, in the last folder on the way.
 */
export function resumableWrites(tree: Tree): ResumableWrites {
  const { files } = tree
  return {
    partSize: chunkSize,

    begin: (path, { signal, size, mimeType }) =>
      withStorageErrors(signal, async () => {
        if (path === '') throw notAFile()
        const segments = segmentsOf(path)
        const { file: existing, parent: known } = await tree.ids.locate(segments, signal, 'verified')
        // What can never be replaced is told before the bytes are sent.
        refuseOver(existing, true)
        const parent = known ?? (await tree.folders.deepest(segments.slice(0, -1), signal))
        const name = known === undefined ? asideName : () => toStored(nameOf(path))
        if (size !== undefined) await refuseTooLarge(files, size, signal)
        const target = await targetFor(files, { existing, parent, name }, { mimeType, signal })
        const { url } = await UploadSession.begin(files, target, signal)
        return format({ path, url, id: target.id, isNew: target.isNew, parent, offset: 0 })
      }),

    append: (text, body, options) =>
      taking(body, options.signal, async () => {
        const { signal, offset, size } = options
        const state = parse(text, offset)
        const session = UploadSession.of(files, state.url)
        // A repeated one may have arrived before, or a half of it.
        const { file, stands } = await session.ask(signal)
        requireWithin(file ? Number.NaN : stands, options)
        for await (const { bytes } of unsent(body, options, stands)) {
          if (bytes.length > 0) await session.send({ bytes, isLast: false }, signal)
        }
        return format({ ...state, offset: offset + size })
      }),

    complete: (text, body, options) =>
      taking(body, options.signal, async () => {
        const state = parse(text, options.offset)
        return toEntry(nameOf(state.path), await new Completion(tree, state, options).run(body))
      }),

    abort: (text, { signal }) =>
      withStorageErrors(signal, async () => {
        const state = parseIfGood(text)
        if (!state) return
        const session = UploadSession.of(files, state.url)
        const isOpen = await session.ask(signal).then(
          ({ file }) => file === undefined,
          error => {
            if (!hasCode(error, 'NOT_FOUND')) throw error
            return false
          },
        )
        if (isOpen) return await session.end(signal)
        // One that is finished stays, unless `complete` failed before it could be seen.
        const file = state.isNew ? await files.find(state.id, signal) : undefined
        if (file && isAside(file)) await files.undo(file.id)
      }),
  }
}

async function taking<T>(body: Readable, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await withStorageErrors(signal, work)
  } catch (error) {
    body.destroy()
    throw error
  }
}

/** In JSON as it is, a path of control characters would be longer than a state may be. */
function format({ path, ...rest }: State): string {
  return JSON.stringify({ path: Buffer.from(path).toString('base64url'), ...rest })
}

function parseIfGood(text: string): State | undefined {
  try {
    const { path, ...rest } = JSON.parse(text)
    const isGood = [path, rest.url, rest.id, rest.parent].every(value => typeof value === 'string')
    if (!isGood || !Number.isSafeInteger(rest.offset)) return undefined
    return { ...rest, path: Buffer.from(path, 'base64url').toString() as StoragePath }
  } catch {
    return undefined
  }
}

/** @throws NOT_FOUND, PRECONDITION_FAILED */
function parse(text: string, offset: number): State {
  const state = parseIfGood(text)
  if (!state) throw new StorageError('NOT_FOUND', 'The upload is not known: begin again.')
  if (offset === state.offset) return state
  throw new StorageError('PRECONDITION_FAILED', `The upload stands at ${state.offset} bytes: go on from there.`)
}
