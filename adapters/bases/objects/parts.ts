import { Readable } from 'node:stream'
import { StorageError } from '../../contract.ts'

const mib = 1024 * 1024

/** The maximum number of parts of a file: that of S3, which suffices for other object stores, too. */
export const maxParts = 10_000

export interface PartLimits {
  /** Bytes of a part. Very large files use larger parts. */
  partBytes: number
  /** The maximum number of bytes that one write buffers. The limit of the process is in part-memory.ts. */
  memoryBytes: number
}

/**
 * The plan for splitting a body into parts. All parts but the last have the same length, because some servers (R2)
 * require it.
 */
export interface PartPlan {
  partBytes: number
  /** The number of parts being sent while the next one is buffered; 0 where parts are too long to buffer. */
  atOnce: number
}

/** Plans parts for a file of `size` bytes; for an unknown size, 10,000 parts of twice the usual length. */
export function planParts(size: number | undefined, limits: PartLimits): PartPlan {
  const needed = size === undefined ? 2 * limits.partBytes : Math.ceil(size / maxParts / mib) * mib
  return planFor(Math.max(limits.partBytes, needed), limits)
}

export function planFor(partBytes: number, { memoryBytes }: PartLimits): PartPlan {
  return { partBytes, atOnce: Math.max(0, Math.floor(memoryBytes / partBytes) - 1) }
}

/** Reads a body part by part, buffered (`fill`) or streamed (`take`). Read each part to its end before the next. */
export class BodyReader {
  readonly #body: AsyncIterator<unknown>
  #rest: Buffer = Buffer.alloc(0)

  constructor(body: AsyncIterable<unknown>) {
    this.#body = body[Symbol.asyncIterator]()
  }

  /** Fills the buffer with the next bytes and returns their number, which is lower only at the end of the body. */
  async fill(buffer: Buffer): Promise<number> {
    let filled = 0
    while (filled < buffer.length) {
      const chunk = this.#rest.length > 0 ? this.#rest : await this.#next()
      if (chunk.length === 0) break
      const copied = chunk.copy(buffer, filled)
      this.#rest = chunk.subarray(copied)
      filled += copied
    }
    return filled
  }

  /** Returns a stream of the next `length` bytes, without buffering. It fails if the body ends early. */
  take(length: number): Readable {
    return Readable.from(this.#pieces(length), { objectMode: false })
  }

  /** @throws UNAVAILABLE where the body has more bytes than its stated size */
  async expectEnd(): Promise<void> {
    if (this.#rest.length > 0 || (await this.#next()).length > 0) throw wrongSize()
  }

  async *#pieces(length: number): AsyncGenerator<Buffer> {
    let left = length
    while (left > 0) {
      const chunk = this.#rest.length > 0 ? this.#rest : await this.#next()
      if (chunk.length === 0) throw wrongSize()
      const piece = chunk.subarray(0, left)
      this.#rest = chunk.subarray(piece.length)
      left -= piece.length
      yield piece
    }
  }

  /** Returns the next chunk; an empty buffer at the end. */
  async #next(): Promise<Buffer> {
    for (;;) {
      const { done, value } = await this.#body.next()
      if (done) return Buffer.alloc(0)
      const chunk = toBuffer(value)
      if (chunk.length > 0) return chunk
    }
  }
}

function toBuffer(chunk: unknown): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk as Uint8Array | string)
}

function wrongSize(): StorageError {
  return new StorageError('UNAVAILABLE', 'The file does not have the announced size: send it again.')
}
