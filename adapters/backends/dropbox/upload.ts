import { pause } from '../../bases/cloud/backoff.ts'
import { isTransient } from '../../bases/cloud/failure.ts'
import { RequestFailure } from '../../bases/cloud/http.ts'
import { isSameName } from '../../bases/cloud/names.ts'
import { type Call, nameOf, StorageError, type StoragePath } from '../../contract.ts'
import { type FileMetadata, isFolder } from './api.ts'
import { formatTime } from './entry.ts'
import { isRefusedFor } from './errors.ts'
import { type DropboxFiles, means } from './files.ts'
import { contentHash, hashBlocks } from './hash.ts'
import { badName } from './names.ts'

/** Bytes of one request: two blocks of the content hash, as concurrent sessions need whole blocks. */
export const chunkSize = 8 * 1024 * 1024

/** The maximum size of a file: 2^41 - 2^22 bytes. */
export const maxFileSize = 2 ** 41 - 2 ** 22

/** The options of a write. */
export interface Commit extends Call {
  path: StoragePath
  overwrite: boolean
  modifiedAt?: Date | undefined
}

/** @throws INVALID_PATH */
export function commitInfo(files: DropboxFiles, { path, overwrite, modifiedAt }: Commit): object {
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
export class ConcurrentSession {
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
export async function uploadWhole(files: DropboxFiles, bytes: Uint8Array, commit: Commit): Promise<FileMetadata> {
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
