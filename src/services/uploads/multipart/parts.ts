/**
 * Receives parts, and appends them to the sequence of bytes that every resumable upload is. Only the holder of the lease
 * appends, one part after the other. If it is interrupted, the next one continues where the bytes end.
 */
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Database } from '../../../db/client.ts'
import {
  bytesUpTo,
  deletePartChunks,
  findPart,
  forgetContent,
  insertPartChunk,
  readPartChunks,
  type WaitingPart,
} from '../../../db/uploads/parts.ts'
import type { UploadRecord } from '../../../db/uploads/record.ts'
import { AppError } from '../../../errors.ts'
import { BudgetShare } from '../../../lib/byte-budget.ts'
import { meteredBody } from '../../../storage/quota-guard.ts'
import type { WriteLocation } from '../../../storage/write-location.ts'
import { type ActiveUpload, bytesOf } from '../active-upload.ts'
import { withinLimits } from '../lease.ts'
import { memberLimits, partBudget } from '../limits.ts'
import { receive } from '../receive.ts'
import { endedUpload, missingPart } from './native-upload.ts'

/** @param gathered the bytes of the part, unless they are in the database */
export async function appendPart(
  upload: ActiveUpload,
  part: WaitingPart,
  gathered: readonly Buffer[] | null,
  work: AbortSignal,
): Promise<void> {
  const { db, lease } = upload
  const { id, appendedParts } = lease.record
  const end = (await bytesUpTo(db, id, appendedParts)) + part.size
  const skip = part.size - (end - lease.record.received)
  if (skip < 0) throw new AppError('INTERNAL')
  if (skip < part.size) {
    const bytes = gathered === null ? storedBytes(upload, part, skip) : after(gathered, skip)
    await receive(upload, Readable.from(bytes, { objectMode: false }), work, work)
  }
  if (lease.record.received !== end) throw missingPart(part.number)
  await lease.save({ appendedParts: part.number })
  await forgetContent(db, id, part)
}

/** Milliseconds after which a request appends no further part, because its client waits for the response. */
const appendTime = 5000

/**
 * Appends the parts whose turn it is, until one is missing, another request waits for the lease, or it takes too long. Later
 * requests continue, at the latest the one that completes the upload.
 */
export async function appendWaiting(upload: ActiveUpload, work: AbortSignal): Promise<void> {
  const { db, lease } = upload
  const begin = performance.now()
  while (!lease.wanted.aborted && !work.aborted && performance.now() - begin < appendTime) {
    const next = await findPart(db, lease.record.id, lease.record.appendedParts + 1)
    if (!next || next.content === null) return
    await appendPart(upload, next, null, work)
  }
}

function storedBytes(
  { db, lease }: ActiveUpload,
  { number, content }: Pick<WaitingPart, 'number' | 'content'>,
  position: number,
): AsyncIterable<Buffer> {
  if (content === null) throw missingPart(number)
  return readPartChunks(db, { uploadId: lease.record.id, content }, position)
}

/** Yields the bytes after the first `skip` ones. */
function* after(buffers: readonly Buffer[], skip: number): Generator<Buffer, void, undefined> {
  let before = 0
  for (const bytes of buffers) {
    const rest = bytes.subarray(Math.max(0, skip - before))
    before += bytes.length
    if (rest.length > 0) yield rest
  }
}

/** Bytes of a part that are gathered in memory at most. Larger parts go to the database. */
const maxGathered = 16 * 1024 * 1024
/** Bytes per row. */
const chunkBytes = 1024 * 1024

/** The bytes of a part: in memory, or in the database under the name `content`. */
export class ReceivedPart implements AsyncDisposable {
  readonly #db: Database
  readonly #upload: UploadRecord
  readonly #buffer = new BudgetShare(partBudget)
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
      const mayGather = this.#content === null && waiting <= maxGathered && this.#buffer.tryTake(chunk.length)
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

/** The space that a part adds to the reservation of its upload, unless the part fails. */
export class PartReservation implements AsyncDisposable {
  readonly #location: WriteLocation
  readonly #uploadId: string
  #bytes = 0
  #kept = 0

  constructor(location: WriteLocation, uploadId: string) {
    this.#location = location
    this.#uploadId = uploadId
  }

  /** Reserves what a part of this many bytes needs. @throws QUOTA_EXCEEDED */
  async reach(bytes: number): Promise<void> {
    await this.#add(bytes - this.#bytes)
    this.#bytes = bytes
  }

  /** Returns a body of unknown size that ends with QUOTA_EXCEEDED when no space is left. */
  metered(body: Readable): Readable {
    return meteredBody(body, { reach: total => this.reach(total), confirm: async () => {} })
  }

  /** @param growth the bytes by which the parts of the upload have grown: fewer if the part replaces one */
  keep(growth: number): void {
    this.#kept = growth
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const rest = this.#bytes - this.#kept
    // If this fails, the bytes count until the upload ends.
    if (rest !== 0) await this.#add(-rest).catch(() => {})
  }

  async #add(bytes: number): Promise<void> {
    await this.#location.reserve({ uploadId: this.#uploadId, bytes, adds: true })
  }
}
