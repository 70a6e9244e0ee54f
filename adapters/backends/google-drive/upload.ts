import { randomUUID } from 'node:crypto'
import type { drive_v3 } from '@googleapis/drive'
import type { Chunk } from '../../bases/cloud/chunks.ts'
import { RequestFailure } from '../../bases/cloud/client.ts'
import { pause } from '../../bases/retry.ts'
import { StorageError, type StorageErrorCode } from '../../contract.ts'
import { google } from './errors.ts'
import { asStorageError, common, type DriveFiles, fileFields } from './files.ts'
import type { DriveFile } from './names.ts'

/** Bytes. The size of every chunk but the last must be a multiple of it. */
export const chunkUnit = 256 * 1024
/** Bytes that one upload holds in memory. */
export const chunkSize = 32 * chunkUnit

/**
 * Bytes that may go in one request with their metadata
 * (developers.google.com/workspace/drive/api/guides/manage-uploads).
 */
export const multipartLimit = 5 * 1024 * 1024

/** The file that takes the bytes: an existing or a new one. */
export type WrittenFile = { id: string; isNew: false; metadata: drive_v3.Schema$File } | NewFile
interface NewFile {
  id: string
  isNew: true
  /** Includes the id, the name and the parent. */
  metadata: drive_v3.Schema$File
}

/** Uploads all bytes in one request. */
export async function uploadWhole(
  files: DriveFiles,
  written: WrittenFile,
  bytes: Buffer,
  signal: AbortSignal,
): Promise<DriveFile> {
  const boundary = randomUUID()
  const type = written.metadata.mimeType ?? 'application/octet-stream'
  const head = `--${boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n${JSON.stringify(written.metadata)}\r\n--${boundary}\r\ncontent-type: ${type}\r\n\r\n`
  const request = {
    ...requestTo(written),
    query: { uploadType: 'multipart', fields: fileFields, ...common },
    headers: { 'content-type': `multipart/related; boundary=${boundary}` },
    body: Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--`)]),
    signal,
  }
  if (written.isNew) return await files.once(written.id, request)
  try {
    return (await files.api.request<DriveFile>({ ...request, repeatable: true })).data
  } catch (error) {
    throw asStorageError(error)
  }
}

function requestTo(written: WrittenFile): { method: 'POST' | 'PATCH'; url: string } {
  if (written.isNew) return { method: 'POST', url: 'upload/drive/v3/files' }
  return { method: 'PATCH', url: `upload/drive/v3/files/${encodeURIComponent(written.id)}` }
}

/** A resumable session. It creates or changes the file with the last chunk, and expires after a week. */
export class UploadSession {
  readonly #files: DriveFiles
  /** A secret: it allows writing without credentials. */
  readonly url: string
  #sent = 0
  /** The code of the error for a session that Drive has ended. */
  readonly #lost: StorageErrorCode

  private constructor(files: DriveFiles, url: string, lost: StorageErrorCode = 'UNAVAILABLE') {
    this.#files = files
    this.url = url
    this.#lost = lost
  }

  /** Continues a session that an earlier request began, perhaps on another server. A lost one is NOT_FOUND. */
  static of(files: DriveFiles, url: string): UploadSession {
    return new UploadSession(files, url, 'NOT_FOUND')
  }

  static async begin(files: DriveFiles, written: WrittenFile, signal: AbortSignal): Promise<UploadSession> {
    const { mimeType } = written.metadata
    try {
      const response = await files.api.request({
        ...requestTo(written),
        query: { uploadType: 'resumable', fields: fileFields, ...common },
        json: written.metadata,
        // Do not send X-Upload-Content-Length: Drive enforces it, and our size is only a hint.
        headers: mimeType ? { 'x-upload-content-type': mimeType } : {},
        // An unused session expires by itself.
        repeatable: true,
        signal,
      })
      const url = response.headers.get('location')
      if (!url) throw new StorageError('UNAVAILABLE', 'Google Drive did not begin an upload: try again.')
      return new UploadSession(files, url)
    } catch (error) {
      throw asStorageError(error)
    }
  }

  /** Asks Drive how many bytes it has. The next chunk has to begin there. */
  async status(signal: AbortSignal): Promise<SessionStatus> {
    return await this.#withStorageErrors(async () => {
      const status = await this.#put(Buffer.alloc(0), { offset: 0, total: '*', repeatable: true, signal })
      this.#sent = status.received
      return status
    })
  }

  /** Sends a chunk. Returns the file after the last chunk. */
  async send(chunk: Chunk, signal: AbortSignal): Promise<DriveFile | undefined> {
    return await this.#withStorageErrors(() => this.#send(chunk, signal))
  }

  async #withStorageErrors<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      throw error instanceof RequestFailure ? this.#failure(error) : error
    }
  }

  #failure(error: RequestFailure): unknown {
    const { status, cause } = error.failure
    if (status === undefined || !endedStatuses.includes(status)) return asStorageError(error)
    return new StorageError(this.#lost, 'Google Drive has ended the upload: start it again.', { cause })
  }

  async #send({ bytes, isLast }: Chunk, signal: AbortSignal): Promise<DriveFile | undefined> {
    const start = this.#sent
    const end = start + bytes.length
    const total = isLast ? String(end) : '*'
    let offset = start
    for (let attempt = 0; ; attempt += 1) {
      let status: SessionStatus
      try {
        // After a failure, ask how many bytes arrived before sending the rest.
        status = await this.#put(bytes.subarray(offset - start), { offset, total, repeatable: false, signal })
      } catch (error) {
        // The request has already waited and retried for a rate limit.
        if (!(error instanceof RequestFailure) || google.isRateLimit(error.failure)) throw error
        const wait = this.#files.api.http.waitFor(error.failure, attempt, true)
        if (wait === undefined) throw error
        await pause(wait, signal)
        status = await this.#put(Buffer.alloc(0), { offset: 0, total, repeatable: true, signal })
      }
      if (status.file) return status.file
      if (status.received < start || status.received > end) {
        throw new StorageError('UNAVAILABLE', 'Google Drive has lost a part of the upload: start it again.')
      }
      // Count only attempts without any progress.
      if (status.received > offset) attempt = -1
      offset = status.received
      if (offset === end && !isLast) {
        this.#sent = end
        return undefined
      }
      if (attempt >= 8) throw new StorageError('UNAVAILABLE', 'Google Drive does not accept the upload: try again.')
    }
  }

  /** Cancels the session and frees its bytes. Do not call this for a finished upload. */
  async end(signal: AbortSignal): Promise<void> {
    await this.#withStorageErrors(() =>
      this.#files.api.request({ method: 'DELETE', url: this.url, accept: endedStatuses, repeatable: true, signal }),
    )
  }

  /** Like `end`, but never rejects. */
  async abort(): Promise<void> {
    // A session that remains expires after a week.
    await this.end(AbortSignal.timeout(10_000)).catch(() => {})
  }

  /** Sends bytes. Without bytes, it asks how many have arrived. */
  async #put(
    bytes: Buffer,
    { offset, total, repeatable, signal }: { offset: number; total: string; repeatable: boolean; signal: AbortSignal },
  ): Promise<SessionStatus> {
    const range = bytes.length === 0 ? `bytes */${total}` : `bytes ${offset}-${offset + bytes.length - 1}/${total}`
    const response = await this.#files.api.request<DriveFile>({
      method: 'PUT',
      url: this.url,
      headers: { 'content-range': range },
      body: bytes,
      accept: [308],
      repeatable,
      signal,
    })
    if (response.status !== 308) return { file: response.data, received: 0 }
    const range308 = /^bytes=0-(\d+)$/.exec(response.headers.get('range') ?? '')
    return { file: undefined, received: range308 ? Number(range308[1]) + 1 : 0 }
  }
}

export interface SessionStatus {
  /** The file as the last chunk created it; undefined before. */
  file: DriveFile | undefined
  /** The number of bytes that have arrived; meaningless once the file exists. */
  received: number
}

/** The statuses of a session that no longer exists. 499 is the response to a successful DELETE. */
const endedStatuses = [404, 410, 499]
