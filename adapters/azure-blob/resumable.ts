import type { Readable } from 'node:stream'
import { type Call, type Entry, nameOf, type ResumableWrites, StorageError } from '../contract.ts'
import { BodyReader, maxParts, planFor, planParts } from '../objects/parts.ts'
import { sendParts } from '../objects/send.ts'
import { whileReading } from '../objects/while-reading.ts'
import type { Container } from './container.ts'
import type { Folders } from './folders.ts'
import type { Keys } from './keys.ts'
import { partWrites } from './part-writes.ts'
import { md5Of, putWhole } from './publish.ts'
import {
  beginStaged,
  blockId,
  blockIds,
  blocksOf,
  freeStaged,
  isBegun,
  newStaged,
  publishStaged,
  putBlock,
  type Staged,
  sizeOf,
} from './staging.ts'
import { formatRecord, noUpload, parseRecord, parseState, type State } from './upload-state.ts'

/** @param onError called where parts could not be freed after the file was stored */
export function resumableWrites(
  container: Container,
  keys: Keys,
  folders: Folders,
  onError: (error: unknown) => void,
): ResumableWrites {
  const stagedOf = ({ id }: Pick<State, 'id'>): Staged => ({ id, key: keys.staging(id) })
  const { limits } = container

  /** Sends the body as parts and returns the new state. */
  async function appendParts(
    text: string,
    body: Readable,
    { signal, offset, size }: Call & { offset: number; size: number },
  ): Promise<State> {
    return await whileReading(body, signal, async () => {
      const state = parseState(text)
      if (offset !== state.offset) {
        throw new StorageError('PRECONDITION_FAILED', `The upload has ${state.offset} bytes: continue from there.`)
      }
      const staged = stagedOf(state)
      // A missing upload would begin again with its next part.
      if (!(await isBegun(container, staged, signal))) throw noUpload()
      // A repeated call sends the same parts again and so replaces those of the call before.
      const options = { first: state.next, partPlan: planFor(state.part, limits), size, signal }
      const sent = await sendParts(body, new BodyReader(body), options, limits, (part, late) =>
        putBlock(container, staged, blockId(part.number), part, late),
      )
      if (sent.bytes !== size) {
        throw new StorageError('UNAVAILABLE', `${sent.bytes} of ${size} bytes arrived: send them again.`)
      }
      return { ...state, next: state.next + sent.count, offset: offset + size }
    })
  }

  return {
    partSize: limits.partBytes,
    maxAppends: maxParts,
    parts: partWrites(container, keys, folders, stagedOf, onError),

    async begin(path, { signal, size, mimeType, unfinished }): Promise<string> {
      keys.blob(path)
      await folders.refuseFolder(path, true, signal)
      signal.throwIfAborted()
      const staged = newStaged(keys)
      await unfinished?.began(formatRecord(staged))
      await beginStaged(container, staged)
      await unfinished?.ended()
      const part = Math.ceil(planParts(size, limits).partBytes / limits.partBytes) * limits.partBytes
      const state: State = { path, id: staged.id, part, next: 1, offset: 0, ...(mimeType && { type: mimeType }) }
      return JSON.stringify(state)
    },

    async append(text, body, options): Promise<string> {
      return JSON.stringify(await appendParts(text, body, options))
    },

    async complete(text, body, { overwrite, ...options }): Promise<Entry> {
      const { signal } = options
      const state = await appendParts(text, body, options)
      const { path, offset: size, next } = state
      const staged = stagedOf(state)
      const destination = { key: keys.blob(path), name: nameOf(path), overwrite }
      const file = { mimeType: state.type, modifiedAt: undefined }
      await folders.refuseFolder(path, overwrite, signal)
      if (size === 0) {
        const empty = Buffer.alloc(0)
        const stored = await putWhole(container, destination, { body: empty, md5: await md5Of(empty), file })
        // The file is stored, so a failure to free the upload does not fail the call.
        await freeStaged(container, staged).catch(onError)
        return stored
      }
      const count = next - 1
      const stored = sizeOf(await blocksOf(container, staged, signal), count)
      signal.throwIfAborted()
      if (stored !== size) {
        throw new StorageError('UNAVAILABLE', `Azure has ${stored} of ${size} bytes: send the file again.`)
      }
      const entry = await publishStaged(
        container,
        staged,
        destination,
        { file, ids: blockIds(count), size, md5: null },
        onError,
      )
      folders.noteFile(path)
      return entry
    },

    async abort(text, { signal }: Call): Promise<void> {
      signal.throwIfAborted()
      const id = parseRecord(text)
      if (id) await freeStaged(container, stagedOf({ id }))
    },
  }
}
