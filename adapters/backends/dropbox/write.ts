import { addAbortSignal, type Readable } from 'node:stream'
import { chunksOf } from '../../bases/cloud/chunks.ts'
import { alreadyExists, notAFile } from '../../bases/cloud/failure.ts'
import { StorageError } from '../../contract.ts'
import { type FileMetadata, isFolder } from './api.ts'
import type { DropboxFiles } from './files.ts'
import { type Commit, ConcurrentSession, chunkSize, uploadWhole } from './upload.ts'

/** The maximum number of chunks of one file that are sent at once. */
const maxSending = 2

export interface WriteOptions extends Commit {
  size: number | undefined
}

/** Writes one file. Dropbox creates it with its parents, or replaces it, in one step after the last byte. */
export class Write {
  readonly #files: DropboxFiles
  readonly #options: WriteOptions
  readonly #sending = new Set<Promise<void>>()
  /** Ends the requests of a write that has failed. */
  readonly #failed = new AbortController()

  constructor(files: DropboxFiles, options: WriteOptions) {
    this.#files = files
    this.#options = options
  }

  async run(body: Readable): Promise<FileMetadata> {
    const { signal } = this.#options
    try {
      return await this.#store(body)
    } catch (error) {
      body.destroy()
      this.#failed.abort()
      await Promise.allSettled(this.#sending)
      throw signal.aborted ? signal.reason : error
    }
  }

  /** Sends no request before the first chunk is complete: a small file needs no session. */
  async #store(body: Readable): Promise<FileMetadata> {
    const { signal, path } = this.#options
    this.#files.pathOf(path)
    let session: ConcurrentSession | undefined
    for await (const { bytes, isLast } of chunksOf(addAbortSignal(signal, body), chunkSize)) {
      signal.throwIfAborted()
      if (!session && isLast) return await uploadWhole(this.#files, bytes, this.#options)
      session ??= await this.#begin()
      if (isLast) {
        await Promise.all(this.#sending)
        await session.send(bytes, true)
        return await session.finish(this.#options)
      }
      this.#send(session, bytes, body)
      if (this.#sending.size >= maxSending) await Promise.race(this.#sending)
    }
    throw new StorageError('UNAVAILABLE', 'The upload ended early: try again.')
  }

  async #begin(): Promise<ConcurrentSession> {
    const { signal, path, overwrite, size } = this.#options
    const existing = await this.#files.find(path, signal)
    if (existing && !overwrite) throw alreadyExists()
    if (existing && isFolder(existing)) throw notAFile()
    if (size !== undefined) await this.#files.refuseTooLarge(size, signal)
    return await ConcurrentSession.begin(this.#files, AbortSignal.any([signal, this.#failed.signal]))
  }

  /** Sends a chunk while the next one is read. A failure ends the body at once. */
  #send(session: ConcurrentSession, bytes: Uint8Array, body: Readable): void {
    const sending = session.send(bytes, false)
    this.#sending.add(sending)
    sending.then(
      () => this.#sending.delete(sending),
      error => body.destroy(error),
    )
  }
}
