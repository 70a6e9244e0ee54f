import type { Readable } from 'node:stream'
import type { Commit } from '../../bases/plain/files.ts'
import { withSource } from '../../bases/plain/source.ts'
import { type Call, type ResumableWrites, StorageError, type StoragePath } from '../../contract.ts'
import { untilEnd } from './body.ts'
import { statusOf } from './errors.ts'
import { timeHeader } from './properties.ts'
import { maxChunks, minChunk, type UploadFolders } from './upload-folders.ts'
import { formatState, newUploadId, parseId, parseState, type UploadState, uploadNotFound } from './upload-state.ts'

interface Files {
  uploads: UploadFolders
  /** Makes a file visible, and takes turns with other writers. */
  commit: Commit
  /** Returns the encoded path of a file. @throws INVALID_PATH */
  addressOf(path: StoragePath): string
}

/**
 * Uploads that the server keeps in chunks. Each call stores one chunk, whose number is in the state, so it can be repeated. The last
 * one may be empty: it replaces the chunk of an attempt that nobody continued.
 */
export function resumableUploads({ uploads, commit, addressOf }: Files): ResumableWrites {
  const add = (text: string, body: Readable, { signal, offset, size }: Call & { offset: number; size: number }) =>
    withSource(body, signal, async (source): Promise<UploadState> => {
      signal.throwIfAborted()
      const state = parseState(text)
      if (offset !== state.offset) {
        throw new StorageError('PRECONDITION_FAILED', `The upload has ${state.offset} bytes: continue from there.`)
      }
      const number = state.chunks + 1
      const chunk = untilEnd(source.stream.iterator({ destroyOnReturn: false }), { size })
      await uploads.put(state.id, number, chunk, { signal, size, total: state.size }).catch(error => {
        throw isMissing(error) ? uploadNotFound() : error
      })
      return { ...state, chunks: number, offset: offset + size }
    })
  return {
    partSize: minChunk,
    maxAppends: maxChunks,

    async begin(path, { signal, size, modifiedAt, unfinished }) {
      // Fail before the bytes are sent if the name can never be stored.
      addressOf(path)
      const id = newUploadId()
      const state = formatState({ id, path, chunks: 0, offset: 0, size, time: modifiedAt?.getTime() })
      await unfinished?.began(state)
      try {
        await uploads.begin(id, { signal })
      } catch (error) {
        await uploads.discard(id, unfinished)
        throw error
      }
      await unfinished?.ended()
      return state
    },

    append: async (text, body, options) => formatState(await add(text, body, options)),

    async complete(text, body, { signal, overwrite, ...range }) {
      const { id, path, offset: size, time } = await add(text, body, { signal, ...range })
      const headers = timeHeader(time === undefined ? undefined : new Date(time))
      const assemble = () => uploads.assemble(id, path, { signal, size, overwrite, headers })
      return await commit(path, { signal, overwrite }, assemble)
    },

    abort: (text, call) => uploads.remove(parseId(text), call),
  }
}

/** A chunk has no place without the folder of its upload. */
function isMissing(error: unknown): boolean {
  return [404, 409].includes(statusOf(error) ?? 0)
}
