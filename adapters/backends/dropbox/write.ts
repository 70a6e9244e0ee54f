import { createHash, webcrypto } from 'node:crypto'
import { addAbortSignal, type Readable } from 'node:stream'
import { chunksOf, endedEarly } from '../../bases/cloud/chunks.ts'
import { RequestFailure } from '../../bases/cloud/client.ts'
import { isTransient } from '../../bases/cloud/errors.ts'
import { isSameName } from '../../bases/cloud/names.ts'
import type { Commit, WriteOptions } from '../../bases/cloud/provider.ts'
import { alreadyExists, notAFile } from '../../bases/errors.ts'
import { pause } from '../../bases/retry.ts'
import { nameOf, StorageError } from '../../contract.ts'
import { type FileMetadata, isFolder } from './api.ts'
import { badName, formatTime } from './entry.ts'
import { isRefusedFor } from './errors.ts'
import { type DropboxFiles, means } from './files.ts'

/** The maximum number of chunks of one file that are sent at once. */
const maxSending = 2

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
    throw endedEarly()
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

/** Bytes of one request: two blocks of the content hash, as concurrent sessions need whole blocks. */
export const chunkSize = 8 * 1024 * 1024

/** The maximum size of a file: 2^41 - 2^22 bytes. */
export const maxFileSize = 2 ** 41 - 2 ** 22

/** @throws INVALID_PATH */
export function commitInfo(files: DropboxFiles, { path, overwrite, modifiedAt }: Omit<Commit, 'signal'>): object {
  return {
    path: files.pathOf(path),
    mode: overwrite ? 'overwrite' : 'add',
    // Otherwise a file with the same content would be no conflict.
    strict_conflict: !overwrite,
    ...(modifiedAt && { client_modified: formatTime(modifiedAt) }),
  }
}

/**
 * Sends a commit. If its response is lost, a file that `isOurs` accepts at the path is its result; otherwise it is sent again.
 * @throws NOT_A_FILE over a folder with `overwrite`; INVALID_PATH where Dropbox changed the name
 */
export async function commitOnce(
  files: DropboxFiles,
  { path, overwrite, signal }: Commit,
  isOurs: (found: FileMetadata) => boolean,
  send: () => Promise<FileMetadata>,
): Promise<FileMetadata> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      signal.throwIfAborted()
      const stored = await send()
      if (isSameName(stored.name, nameOf(path))) return stored
      await files.discard(stored)
      throw badName()
    } catch (error) {
      if (!(error instanceof RequestFailure)) throw error
      if (overwrite && isRefusedFor(error.failure, 'conflict/folder')) {
        throw new StorageError('NOT_A_FILE', 'There is a folder at this path.', { cause: error.failure.cause })
      }
      const isLost = isTransient(error.failure)
      if (isLost || (attempt > 0 && means(error, 'ALREADY_EXISTS', 'NOT_FOUND'))) {
        const found = await files.find(path, signal)
        if (found && !isFolder(found) && isOurs(found)) return found
      }
      const wait = isLost ? files.api.http.waitFor(error.failure, attempt, true) : undefined
      if (wait === undefined) throw error
      await pause(wait, signal)
    }
  }
}

/** The options of a request that makes a file visible. */
export const once = (signal: AbortSignal) => ({ signal, repeatable: false, isCommit: true })

/** An upload session whose parts arrive in any order. It expires after a week, and stores nothing that anybody can see. */
class ConcurrentSession {
  readonly #files: DropboxFiles
  readonly #id: string
  readonly #signal: AbortSignal
  /** The hashes of each chunk's blocks, in order. */
  readonly #blocks: Buffer[] = []
  #size = 0

  private constructor(files: DropboxFiles, id: string, signal: AbortSignal) {
    this.#files = files
    this.#id = id
    this.#signal = signal
  }

  static async begin(files: DropboxFiles, signal: AbortSignal): Promise<ConcurrentSession> {
    const args = { close: false, session_type: 'concurrent' }
    const route = 'files/upload_session/start'
    const { session_id } = await files.api.upload<{ session_id: string }>(route, args, new Uint8Array(0), { signal })
    return new ConcurrentSession(files, session_id, signal)
  }

  /** Sends the next chunk. The last one closes the session, after all others. */
  async send(bytes: Uint8Array, isLast: boolean): Promise<void> {
    const [offset, number] = [this.#size, this.#blocks.length]
    this.#size += bytes.length
    this.#blocks.push(Buffer.alloc(0))
    const blocks = await hashBlocks(bytes)
    this.#blocks[number] = blocks
    const args = { cursor: { session_id: this.#id, offset }, close: isLast, content_hash: contentHash(blocks) }
    try {
      await this.#files.api.upload('files/upload_session/append_v2', args, bytes, { signal: this.#signal })
    } catch (error) {
      // The response to an earlier attempt was lost.
      const isClosed = isLast && error instanceof RequestFailure && isRefusedFor(error.failure, 'closed')
      if (!isClosed) throw error
    }
  }

  async finish(commit: Commit): Promise<FileMetadata> {
    const hash = contentHash(...this.#blocks)
    const args = { cursor: { session_id: this.#id, offset: this.#size }, commit: commitInfo(this.#files, commit) }
    const route = 'files/upload_session/finish'
    const send = () => this.#files.api.upload<FileMetadata>(route, args, new Uint8Array(0), once(commit.signal))
    return await store(this.#files, commit, hash, send)
  }
}

/** Uploads all bytes in one request. */
async function uploadWhole(files: DropboxFiles, bytes: Uint8Array, commit: Commit): Promise<FileMetadata> {
  const hash = contentHash(await hashBlocks(bytes))
  const args = { ...commitInfo(files, commit), content_hash: hash }
  const send = () => files.api.upload<FileMetadata>('files/upload', args, bytes, once(commit.signal))
  return await store(files, commit, hash, send)
}

/** Stores a file with this content hash. Dropbox checks each request against its hash; this checks the whole file. */
async function store(
  files: DropboxFiles,
  commit: Commit,
  hash: string,
  send: () => Promise<FileMetadata>,
): Promise<FileMetadata> {
  const stored = await commitOnce(files, commit, found => found.content_hash === hash, send)
  const isWhole = stored.content_hash === undefined || stored.content_hash === hash
  if (isWhole && (commit.overwrite || !commit.signal.aborted)) return stored
  if (!commit.overwrite) await files.discard(stored)
  commit.signal.throwIfAborted()
  throw new StorageError('UNAVAILABLE', 'Dropbox stored other bytes than were sent: write the file again.')
}

/** Bytes. Dropbox's content hash is the SHA-256 of the SHA-256 of each block (www.dropbox.com/developers/reference/content-hash). */
export const blockSize = 4 * 1024 * 1024

/** Returns the hashes of all blocks, joined. Only the last piece of a file may have a size that is no multiple of a block. */
export async function hashBlocks(bytes: Uint8Array): Promise<Buffer> {
  const hashes: Promise<ArrayBuffer>[] = []
  for (let start = 0; start < bytes.length; start += blockSize) {
    const block = bytes.subarray(start, start + blockSize) as Uint8Array<ArrayBuffer>
    // Hashes in the thread pool: a block takes several milliseconds.
    hashes.push(webcrypto.subtle.digest('SHA-256', block))
  }
  return Buffer.concat((await Promise.all(hashes)).map(hash => Buffer.from(hash)))
}

/** @param blocks from `hashBlocks`; those of consecutive pieces can be passed one after the other */
export function contentHash(...blocks: Buffer[]): string {
  const hash = createHash('sha256')
  for (const block of blocks) hash.update(block)
  return hash.digest('hex')
}
