import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Database } from '../../../db/client.ts'
import { deletePartChunks, insertPartChunk } from '../../../db/uploads/parts.ts'
import type { UploadRecord } from '../../../db/uploads/record.ts'
import { bytesOf } from '../active-upload.ts'
import { withinLimits } from '../lease.ts'
import { PartBuffer } from '../memory-budget.ts'
import { memberLimits } from '../upload-limits.ts'
import { endedUpload } from './missing.ts'

/** Bytes of a part that are gathered in memory at most. Larger parts go to the database. */
const maxGathered = 16 * 1024 * 1024
/** Bytes per row. */
const chunkBytes = 1024 * 1024

/** The bytes of a part: in memory, or in the database under the name `content`. */
export class ReceivedPart implements AsyncDisposable {
  readonly #db: Database
  readonly #upload: UploadRecord
  readonly #buffer = new PartBuffer()
  #gathered: Buffer[] = []
  #stored = 0
  #content: string | null = null
  #isKept = false

  constructor(db: Database, upload: UploadRecord) {
    this.#db = db
    this.#upload = upload
  }

  /** The bytes in memory; null if they are in the database. */
  get gathered(): readonly Buffer[] | null {
    return this.#content === null ? this.#gathered : null
  }

  get size(): number {
    return this.#stored + bytesOf(this.#gathered)
  }

  /** @throws as `store`, the error of the body, the signal's reason */
  async read(body: Readable, signal: AbortSignal): Promise<void> {
    for await (const chunk of body) {
      signal.throwIfAborted()
      this.#gathered.push(chunk)
      const waiting = bytesOf(this.#gathered)
      const mayGather = this.#content === null && waiting <= maxGathered && this.#buffer.take(chunk.length)
      if (!mayGather && waiting >= chunkBytes) await this.#store()
    }
  }

  /**
   * Moves all bytes to the database.
   * @returns the name of the content
   * @throws TOO_MANY_UPLOADS; NOT_FOUND if the upload has ended
   */
  async store(): Promise<string> {
    return await this.#store()
  }

  /** Call this once a part has the content. */
  keep(): void {
    this.#isKept = true
  }

  async #store(): Promise<string> {
    this.#content ??= randomUUID()
    const bytes = Buffer.concat(this.#gathered)
    this.#gathered = []
    this.#buffer.release()
    for (let start = 0; start < bytes.length; start += chunkBytes) {
      const chunk = bytes.subarray(start, start + chunkBytes)
      const row = { content: this.#content, position: this.#stored, bytes: chunk }
      const isOpen = await withinLimits(insertPartChunk(this.#db, this.#upload, row, memberLimits))
      if (!isOpen) throw endedUpload()
      this.#stored += chunk.length
    }
    return this.#content
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#buffer.release()
    // If this fails, the chunks count until the upload ends.
    if (this.#content !== null && !this.#isKept) {
      await deletePartChunks(this.#db, this.#upload.id, this.#content).catch(() => {})
    }
  }
}
