/** Encrypts and decrypts the content of files as it streams, block by block. */
import { Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import { blockBytes, headerBytes, headerOf, nonceIn, nonceOfBlock, storedBlockBytes } from './blocks.ts'
import { type Secretbox, tagBytes } from './secretbox.ts'

/** Blocks that are passed on together, except for the first one, so that a reader gets the first bytes soon. */
const maxBlocks = 4

/** Where a stream begins in its file. */
export interface StreamPosition {
  nonce: Buffer
  /** The number of the first block. */
  first: number
}

/** Returns the error for a stored file that is not what somebody has encrypted with this password. */
export function damaged(name: string, detail: string): AppError {
  const message = `"${name}" cannot be decrypted: it is damaged, or was encrypted with another password.`
  return new AppError('DAMAGED', message, { cause: new Error(detail) })
}

export class ContentCipher {
  readonly #key: Buffer
  readonly #box: Secretbox

  constructor(key: Buffer, box: Secretbox) {
    this.#key = key
    this.#box = box
  }

  /**
   * Returns the stored form of a body, which fails as the body does. Destroying it destroys the body.
   * @param before bytes in front of the blocks
   */
  sealed(body: Readable, position: StreamPosition, before: Uint8Array = headerOf(position.nonce)): Readable {
    const blocks = this.#sealed(body.iterator({ destroyOnReturn: true }), position)
    return new DerivedBody(body, following([before], blocks))
  }

  /** Decrypts a small stored file. Returns null for one that is damaged. */
  openBytes(stored: Uint8Array): Buffer | null {
    const nonce = nonceIn(stored)
    if (!nonce) return null
    const bytes = Buffer.from(stored.subarray(headerBytes))
    return bytes.length === 0 ? bytes : this.#open(bytes, nonce, 0)
  }

  /**
   * Returns the content of a stored body once the first block of it is known to be undamaged.
   * @param body begins with the header if `position` is null, and with a block otherwise
   * @param range the bytes to skip in the first block, and the number of bytes to return after those
   * @returns the nonce of the file, and the content; null instead of it if the body ends before or at the bytes to skip
   * @throws DAMAGED, and as the body
   */
  async opened(
    name: string,
    body: Readable,
    position: StreamPosition | null,
    { skip, length }: { skip: number; length: number },
  ): Promise<{ nonce: Buffer; content: Readable | null }> {
    try {
      const source = body.iterator({ destroyOnReturn: true })
      const [nonce, rest] = position ? [position.nonce, [] as Uint8Array[]] : await readHeader(name, source)
      const chunks = following(rest, source)
      const blocks = this.#opened(name, chunks, { nonce, first: position?.first ?? 0 })
      const { value: first } = await blocks.next()
      if (skip > 0 && (first?.length ?? 0) <= skip) {
        body.destroy()
        return { nonce, content: null }
      }
      return { nonce, content: new DerivedBody(body, limited(first, blocks, { skip, length })) }
    } catch (error) {
      body.destroy()
      throw error
    }
  }

  async *#sealed(chunks: AsyncIterable<Uint8Array>, { nonce, first }: StreamPosition): AsyncGenerator<Uint8Array> {
    let number = first
    for await (const blocks of gathered(chunks, { room: tagBytes, size: blockBytes })) {
      for (let start = 0; start < blocks.length; start += storedBlockBytes) {
        this.#box.seal(blocks.subarray(start, start + storedBlockBytes), nonceOfBlock(nonce, number), this.#key)
        number += 1
      }
      yield blocks
    }
  }

  /** @throws DAMAGED */
  async *#opened(
    name: string,
    chunks: AsyncIterable<Uint8Array>,
    { nonce, first }: StreamPosition,
  ): AsyncGenerator<Uint8Array> {
    let number = first
    for await (const stored of gathered(chunks, { room: 0, size: storedBlockBytes })) {
      const blocks = this.#open(stored, nonce, number)
      if (!blocks) throw damaged(name, `It cannot be decrypted at block ${number} or one of the next.`)
      number += Math.ceil(stored.length / storedBlockBytes)
      yield blocks
    }
  }

  /** Decrypts blocks in their own memory. Returns null if one is damaged. */
  #open(stored: Buffer, nonce: Uint8Array, first: number): Buffer | null {
    let end = tagBytes
    for (let start = 0, number = first; start < stored.length; start += storedBlockBytes, number += 1) {
      const block = stored.subarray(start, start + storedBlockBytes)
      if (block.length <= tagBytes) return null
      const content = stored.subarray(end, end + block.length - tagBytes)
      if (!this.#box.open(block, content, nonceOfBlock(nonce, number), this.#key)) return null
      end += content.length
    }
    return stored.subarray(tagBytes, end)
  }
}

/** Reads the header. Returns the nonce and the bytes after it. @throws DAMAGED */
async function readHeader(
  name: string,
  chunks: AsyncIterator<Uint8Array>,
): Promise<[nonce: Buffer, rest: Uint8Array[]]> {
  let header = Buffer.alloc(0)
  while (header.length < headerBytes) {
    const { value, done } = await chunks.next()
    if (done) break
    header = Buffer.concat([header, value])
  }
  const nonce = nonceIn(header)
  if (!nonce) throw damaged(name, 'It has no header.')
  return [nonce, [header.subarray(headerBytes)]]
}

async function* following(first: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* first
  yield* rest
}

/**
 * Gathers chunks to one block, and then to several blocks at once. Only the last block of all may be shorter.
 * @param room bytes in front of each block for others
 * @param size the bytes of a block
 */
async function* gathered(
  chunks: AsyncIterable<Uint8Array>,
  { room, size }: { room: number; size: number },
): AsyncGenerator<Buffer> {
  const step = room + size
  let buffer = Buffer.allocUnsafeSlow(step)
  let length = 0
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; ) {
      if (length % step === 0) length += room
      const part = chunk.subarray(start, start + step - (length % step))
      buffer.set(part, length)
      length += part.length
      start += part.length
      if (length < buffer.length) continue
      yield buffer
      buffer = Buffer.allocUnsafeSlow(maxBlocks * step)
      length = 0
    }
  }
  if (length > 0) yield buffer.subarray(0, length)
}

/** @param first the first block, or undefined if there is none */
async function* limited(
  first: Uint8Array | undefined,
  blocks: AsyncIterator<Uint8Array>,
  { skip, length }: { skip: number; length: number },
): AsyncGenerator<Uint8Array> {
  let left = length
  let block: Uint8Array | undefined = first?.subarray(skip)
  while (block !== undefined && left > 0) {
    yield block.subarray(0, left)
    left -= Math.min(left, block.length)
    if (left === 0) break
    const { value, done } = await blocks.next()
    block = done ? undefined : value
  }
}

/** A stream of bytes that are made of another one. Unlike `Readable.from`, it can be destroyed at once while the other one is silent. */
export class DerivedBody extends Readable {
  readonly #source: Readable
  readonly #bytes: AsyncGenerator<Uint8Array>

  constructor(source: Readable, bytes: AsyncGenerator<Uint8Array>) {
    super({ highWaterMark: blockBytes })
    this.#source = source
    this.#bytes = bytes
  }

  override _read(): void {
    this.#bytes.next().then(
      ({ value, done }) => {
        if (this.destroyed) return
        if (value?.length === 0) this._read()
        else this.push(done ? null : value)
      },
      error => this.destroy(error),
    )
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#source.destroy()
    void this.#bytes.return(undefined).catch(() => {})
    done(error)
  }
}
