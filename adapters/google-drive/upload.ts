import { randomUUID } from 'node:crypto'
import type { drive_v3 } from '@googleapis/drive'
import { StorageError, type StorageErrorCode } from '../contract.ts'
import { ApiFailure, type DriveFile, fileFields, pause } from './api.ts'
import type { Chunk } from './chunks.ts'
import { isRateLimit } from './errors.ts'
import { common, type DriveFiles, translated } from './files.ts'

/** Bytes that may go in one request with their metadata (developers.google.com/workspace/drive/api/guides/manage-uploads). */
export const multipartLimit = 5 * 1024 * 1024

/** Which file takes the bytes: one that is there, or a new one. */
export type Target = { id: string; isNew: false; metadata: drive_v3.Schema$File } | NewTarget
interface NewTarget {
  id: string
  isNew: true
  /** With the id, the name and the parent. */
  metadata: drive_v3.Schema$File
}

/** Uploads all bytes in one request. */
export async function uploadWhole(
  files: DriveFiles,
  target: Target,
  bytes: Buffer,
  signal: AbortSignal,
): Promise<DriveFile> {
  const boundary = randomUUID()
  const type = target.metadata.mimeType ?? 'application/octet-stream'
  const head = `--${boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n${JSON.stringify(target.metadata)}\r\n--${boundary}\r\ncontent-type: ${type}\r\n\r\n`
  const request = {
    ...requestTo(target),
    query: { uploadType: 'multipart', fields: fileFields, ...common },
    headers: { 'content-type': `multipart/related; boundary=${boundary}` },
    body: Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--`)]),
    signal,
  }
  if (target.isNew) return await files.once(target.id, request)
  try {
    return (await files.api.request<DriveFile>({ ...request, repeatable: true })).data
  } catch (error) {
    throw translated(error)
  }
}

function requestTo(target: Target): { method: 'POST' | 'PATCH'; url: string } {
  if (target.isNew) return { method: 'POST', url: 'upload/drive/v3/files' }
  return { method: 'PATCH', url: `upload/drive/v3/files/${encodeURIComponent(target.id)}` }
}

/** A resumable session: the file is there, or changes, once the last chunk has arrived. It lives for a week. */
export class UploadSession {
  readonly #files: DriveFiles
  /** A secret: it allows writing without credentials. */
  readonly url: string
  #sent = 0
  /** What a session that Drive has given up is told as. */
  readonly #lost: StorageErrorCode

  private constructor(files: DriveFiles, url: string, lost: StorageErrorCode = 'UNAVAILABLE') {
    this.#files = files
    this.url = url
    this.#lost = lost
  }

  /** One that was begun before, perhaps by another server. One that is gone is NOT_FOUND. */
  static of(files: DriveFiles, url: string): UploadSession {
    return new UploadSession(files, url, 'NOT_FOUND')
  }

  static async begin(files: DriveFiles, target: Target, signal: AbortSignal): Promise<UploadSession> {
    const { mimeType } = target.metadata
    try {
      const answer = await files.api.request({
        ...requestTo(target),
        query: { uploadType: 'resumable', fields: fileFields, ...common },
        json: target.metadata,
        // Without X-Upload-Content-Length: Drive takes it for a promise, and a size is only a hint.
        headers: mimeType ? { 'x-upload-content-type': mimeType } : {},
        // An unused session expires by itself.
        repeatable: true,
        signal,
      })
      const url = answer.headers.get('location')
      if (!url) throw new StorageError('UNAVAILABLE', 'Google Drive began no upload: try again.')
      return new UploadSession(files, url)
    } catch (error) {
      throw translated(error)
    }
  }

  /** Where it stands: what is sent next has to begin there. */
  async ask(signal: AbortSignal): Promise<Standing> {
    return await this.#withStorageErrors(async () => {
      const standing = await this.#put(Buffer.alloc(0), { offset: 0, total: '*', repeatable: true, signal })
      this.#sent = standing.stands
      return standing
    })
  }

  /** Returns the file after the last chunk. */
  async send(chunk: Chunk, signal: AbortSignal): Promise<DriveFile | undefined> {
    return await this.#withStorageErrors(() => this.#send(chunk, signal))
  }

  async #withStorageErrors<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      throw error instanceof ApiFailure ? this.#failure(error) : error
    }
  }

  #failure(error: ApiFailure): StorageError {
    const { status, cause } = error.failure
    if (status === undefined || !ended.includes(status)) return error.toStorageError()
    return new StorageError(this.#lost, 'Google Drive has given the upload up: start it again.', { cause })
  }

  async #send({ bytes, isLast }: Chunk, signal: AbortSignal): Promise<DriveFile | undefined> {
    const start = this.#sent
    const end = start + bytes.length
    const total = isLast ? String(end) : '*'
    let offset = start
    for (let attempt = 0; ; attempt += 1) {
      let answer: Standing
      try {
        // Not repeated blindly: first it is asked where the upload stands.
        answer = await this.#put(bytes.subarray(offset - start), { offset, total, repeatable: false, signal })
      } catch (error) {
        // For a rate limit there was a wait already.
        if (!(error instanceof ApiFailure) || isRateLimit(error.failure)) throw error
        const wait = this.#files.api.waitFor(error.failure, attempt, true)
        if (wait === undefined) throw error
        await pause(wait, signal)
        answer = await this.#put(Buffer.alloc(0), { offset: 0, total, repeatable: true, signal })
      }
      if (answer.file) return answer.file
      if (answer.stands < start || answer.stands > end) {
        throw new StorageError('UNAVAILABLE', 'Google Drive has lost a part of the upload: start it again.')
      }
      // What arrives is progress, however small: only standing still counts.
      if (answer.stands > offset) attempt = -1
      offset = answer.stands
      if (offset === end && !isLast) {
        this.#sent = end
        return undefined
      }
      if (attempt >= 8) throw new StorageError('UNAVAILABLE', 'Google Drive does not take the upload: try again.')
    }
  }

  /** Ends it without a trace; one that is finished must not be asked for. */
  async end(signal: AbortSignal): Promise<void> {
    await this.#withStorageErrors(() =>
      this.#files.api.request({ method: 'DELETE', url: this.url, accept: ended, repeatable: true, signal }),
    )
  }

  /** The same, as far as that can be done. */
  async abort(): Promise<void> {
    // It expires by itself after a week.
    await this.end(AbortSignal.timeout(10_000)).catch(() => {})
  }

  /** Without bytes it asks where the upload stands. */
  async #put(
    bytes: Buffer,
    { offset, total, repeatable, signal }: { offset: number; total: string; repeatable: boolean; signal: AbortSignal },
  ): Promise<Standing> {
    const range = bytes.length === 0 ? `bytes */${total}` : `bytes ${offset}-${offset + bytes.length - 1}/${total}`
    const answer = await this.#files.api.request<DriveFile>({
      method: 'PUT',
      url: this.url,
      headers: { 'content-range': range },
      body: bytes,
      accept: [308],
      repeatable,
      signal,
    })
    if (answer.status !== 308) return { file: answer.data, stands: 0 }
    const range308 = /^bytes=0-(\d+)$/.exec(answer.headers.get('range') ?? '')
    return { file: undefined, stands: range308 ? Number(range308[1]) + 1 : 0 }
  }
}

export interface Standing {
  /** As it was when the last chunk had arrived. */
  file: DriveFile | undefined
  /** Bytes that have arrived, while there is no file. */
  stands: number
}

/** Answers of a session that there is no more; 499 is that of a DELETE that has ended it. */
const ended = [404, 410, 499]
