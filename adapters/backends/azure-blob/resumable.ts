import type { Readable } from 'node:stream'
import { maxParts } from '../../bases/objects/parts.ts'
import { sendParts } from '../../bases/objects/send.ts'
import { appendParts, beginState, fileOf, noUpload } from '../../bases/objects/uploads.ts'
import { type Call, type Entry, nameOf, type ResumableWrites, StorageError } from '../../contract.ts'
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
  sizeOf,
} from './staging.ts'
import { formatRecord, parseRecord, stagedOf } from './upload-state.ts'

/** @param onError called where parts could not be freed after the file was stored */
export function resumableWrites(
  container: Container,
  keys: Keys,
  folders: Folders,
  onError: (error: unknown) => void,
): ResumableWrites {
  const { limits } = container
  const append = (text: string, body: Readable, options: Call & { offset: number; size: number }) =>
    appendParts(text, body, options, limits, async (state, reader, sendOptions) => {
      const staged = stagedOf(keys, state.id)
      // A missing upload would begin again with its next part.
      if (!(await isBegun(container, staged, options.signal))) throw noUpload()
      return await sendParts(body, reader, sendOptions, limits, (part, late) =>
        putBlock(container, staged, blockId(part.number), part, late),
      )
    })

  return {
    partSize: limits.partBytes,
    maxAppends: maxParts,
    parts: partWrites(container, keys, folders, onError),

    async begin(path, { signal, size, mimeType, modifiedAt, unfinished }): Promise<string> {
      keys.blob(path)
      await folders.refuseFolder(path, true, signal)
      signal.throwIfAborted()
      const staged = newStaged(keys)
      await unfinished?.began(formatRecord(staged))
      await beginStaged(container, staged)
      await unfinished?.ended()
      return beginState({ path, id: staged.id, size, mimeType, modifiedAt }, limits)
    },

    async append(text, body, options): Promise<string> {
      return JSON.stringify(await append(text, body, options))
    },

    async complete(text, body, { overwrite, ...options }): Promise<Entry> {
      const { signal } = options
      const state = await append(text, body, options)
      const { path, offset: size, next } = state
      const staged = stagedOf(keys, state.id)
      const destination = { key: keys.blob(path), name: nameOf(path), overwrite }
      const file = fileOf(state)
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
      const staged = parseRecord(text, keys)
      if (staged) await freeStaged(container, staged)
    },
  }
}
