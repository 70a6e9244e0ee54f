import { type BlockOptions, endedEarly, requireWithin, unsent } from '../../bases/cloud/chunks.ts'
import { RequestFailure } from '../../bases/cloud/client.ts'
import { property } from '../../bases/cloud/errors.ts'
import { alreadyExists, notAFile } from '../../bases/errors.ts'
import { formatState, parseState } from '../../bases/upload-state.ts'
import { nameOf, type ResumableWrites, type StoragePath } from '../../contract.ts'
import { type FileMetadata, isFolder } from './api.ts'
import { toEntry } from './entry.ts'
import { isRefusedFor } from './errors.ts'
import type { DropboxFiles } from './files.ts'
import { blockSize, chunkSize, commitInfo, commitOnce, contentHash, hashBlocks, once } from './write.ts'

interface State {
  path: StoragePath
  session: string
  /** The modification time of the file, in milliseconds since 1970. */
  time: number | undefined
}

/** Sessions whose parts arrive in order. They expire after a week. Until it is finished, a session stores nothing visible. */
export function resumableWrites(files: DropboxFiles): ResumableWrites {
  return {
    partSize: blockSize,
    // Only concurrent sessions need whole blocks.
    partMultiple: 1,

    async begin(path, { signal, size, modifiedAt }) {
      // Fail before the bytes are sent if they can never be stored.
      const existing = await files.find(path, signal)
      if (existing && isFolder(existing)) throw notAFile()
      if (size !== undefined) await files.refuseTooLarge(size, signal)
      const route = 'files/upload_session/start'
      const started = await files.api.upload<{ session_id: string }>(route, {}, new Uint8Array(0), { signal })
      return formatState({ path, session: started.session_id, time: modifiedAt?.getTime() } satisfies State)
    },

    async append(text, body, options) {
      const sender = new Sender(files, parse(text), options)
      for await (const { bytes } of unsent(body, { ...options, chunkSize }, options.offset)) await sender.send(bytes)
      return text
    },

    async complete(text, body, options) {
      const state = parse(text)
      const sender = new Sender(files, state, options)
      for await (const { bytes, isLast } of unsent(body, { ...options, chunkSize }, options.offset)) {
        if (!isLast) await sender.send(bytes)
        else return toEntry(nameOf(state.path), await sender.finish(bytes, options.overwrite))
      }
      throw endedEarly()
    },

    async abort() {},
  }
}

/** @throws NOT_FOUND */
const parse = (text: string) => parseState<State>(text, ({ session }) => typeof session === 'string')

/** Sends the chunks of one call, without the bytes that an earlier call has sent. */
class Sender {
  readonly #files: DropboxFiles
  readonly #state: State
  readonly #options: BlockOptions
  /** The offset of the next chunk. */
  #position: number
  /** The number of bytes that Dropbox has. */
  #received: number

  constructor(files: DropboxFiles, state: State, options: BlockOptions) {
    this.#files = files
    this.#state = state
    this.#options = options
    this.#position = options.offset
    this.#received = options.offset
  }

  async send(chunk: Uint8Array): Promise<void> {
    const end = this.#position + chunk.length
    const { signal } = this.#options
    if (this.#received < end) {
      await this.#fromReceived(async offset => {
        const bytes = chunk.subarray(offset - this.#position)
        if (bytes.length === 0) return
        const args = { cursor: this.#cursor(offset), content_hash: contentHash(await hashBlocks(bytes)) }
        await this.#files.api.upload('files/upload_session/append_v2', args, bytes, { signal })
        this.#received = end
      })
    }
    this.#position = end
  }

  /** Sends the last bytes, which makes Dropbox store the file. A refused commit keeps the bytes in the session. */
  async finish(chunk: Uint8Array, overwrite: boolean): Promise<FileMetadata> {
    const { signal, offset, size } = this.#options
    const { path, time } = this.#state
    const modifiedAt = time === undefined ? undefined : new Date(time)
    const commit = { path, modifiedAt, overwrite, signal }
    const before = await this.#files.find(path, signal)
    if (before && isFolder(before)) throw overwrite ? notAFile() : alreadyExists()
    // The hash of the whole file is unknown here, as other calls have sent parts of it.
    const isOurs = ({ size: stored, rev }: FileMetadata) => stored === offset + size && rev !== before?.rev
    return await commitOnce(this.#files, commit, isOurs, () =>
      this.#fromReceived(async start => {
        const bytes = chunk.subarray(start - this.#position)
        const args = { cursor: this.#cursor(start), commit: commitInfo(this.#files, commit) }
        const hash = contentHash(await hashBlocks(bytes))
        const route = 'files/upload_session/finish'
        return await this.#files.api.upload<FileMetadata>(route, { ...args, content_hash: hash }, bytes, once(signal))
      }),
    )
  }

  /** Runs `request` from where Dropbox has the bytes of this call. @throws PRECONDITION_FAILED where it has others */
  async #fromReceived<T>(request: (offset: number) => Promise<T>): Promise<T> {
    try {
      return await request(Math.max(this.#received, this.#position))
    } catch (error) {
      const correct = correctOffset(error)
      if (correct === undefined || correct === this.#received) throw error
      const { offset, size } = this.#options
      requireWithin(correct, { ...this.#options, offset: this.#position, size: offset + size - this.#position })
      this.#received = correct
      return await request(correct)
    }
  }

  #cursor(offset: number): object {
    return { session_id: this.#state.session, offset }
  }
}

/** Returns where Dropbox expects the next byte, if the request began elsewhere. */
function correctOffset(error: unknown): number | undefined {
  if (!(error instanceof RequestFailure && isRefusedFor(error.failure, 'incorrect_offset'))) return undefined
  const refusal = property(error.body, 'error')
  const detail = property(refusal, 'lookup_failed') ?? refusal
  const offset = property(detail, 'correct_offset') ?? property(property(detail, 'incorrect_offset'), 'correct_offset')
  return typeof offset === 'number' ? offset : undefined
}
