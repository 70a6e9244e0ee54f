import { Readable } from 'node:stream'
import { StorageError } from '../contract.ts'
import type { Limits } from './bucket.ts'

const mib = 1024 * 1024

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */
export const maxParts = 10_000
/** Bytes: 5 TiB. */
export const maxFileSize = 5 * 1024 ** 4

/** How a body is cut. All parts but the last have one length: some servers (R2) take no others. */
export interface Cut {
  partBytes: number
  /** Parts under way while the next one is gathered; 0 where parts are too long to be held, and flow through unbuffered. */
  atOnce: number
}

/** Unknown sizes get parts for 156 GiB. */
export function cutFor(size: number | undefined, limits: Limits): Cut {
  const needed = size === undefined ? 2 * limits.partBytes : Math.ceil(size / maxParts / mib) * mib
  return cutOf(Math.max(limits.partBytes, needed), limits)
}

export function cutOf(partBytes: number, { memoryBytes }: Limits): Cut {
  return { partBytes, atOnce: Math.max(0, Math.floor(memoryBytes / partBytes) - 1) }
}

/** Reads a body piece by piece, each gathered or as it comes; one to its end before the next. */
export class Flow {
  readonly #body: AsyncIterator<unknown>
  #rest: Buffer = Buffer.alloc(0)

  constructor(body: AsyncIterable<unknown>) {
    this.#body = body[Symbol.asyncIterator]()
  }

  /** Puts the next bytes into `target`; resolves with how many, which are fewer only at the end of the body. */
  async fill(target: Buffer): Promise<number> {
    let filled = 0
    while (filled < target.length) {
      const chunk = this.#rest.length > 0 ? this.#rest : await this.#next()
      if (chunk.length === 0) break
      const copied = chunk.copy(target, filled)
      this.#rest = chunk.subarray(copied)
      filled += copied
    }
    return filled
  }

  /** The next `length` bytes, none of which is held. Fails where the body ends before. */
  take(length: number): Readable {
    return Readable.from(this.#pieces(length), { objectMode: false })
  }

  /** @throws UNAVAILABLE where the body is longer than it was said to be */
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

  /** Empty at the end. */
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
  return new StorageError('UNAVAILABLE', 'The file has not the size that was announced: send it again.')
}
