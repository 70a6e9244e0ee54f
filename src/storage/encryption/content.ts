/** Encrypts and decrypts the content of files as it streams, several blocks at once in other threads. */
import { Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import { type BlockJob, blockBytes, headerBytes, headerOf, nonceIn, storedBlockBytes } from './blocks.ts'
import type { BlockThreads } from './threads.ts'

/** Blocks in the largest job, which has 1 MiB. The first job has one block, so that a reader gets the first bytes soon. */
const maxBlocks = 16
/** Jobs of one stream that are under way. With the bytes around them, they bound the memory of a transfer. */
const depth = 3

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
  readonly #key: Uint8Array
  readonly #threads: BlockThreads

  constructor(key: Uint8Array, threads: BlockThreads) {
    this.#key = key
    this.#threads = threads
  }

  /**
   * Returns the stored form of a body, which fails as the body does. Destroying it destroys the body.
   * @param before bytes in front of the blocks
   */
  sealed(body: Readable, position: StreamPosition, before: Uint8Array = headerOf(position.nonce)): Readable {
    const blocks = this.#blocks('', 'seal', body.iterator({ destroyOnReturn: true }), position)
    return new DerivedBody(body, following([before], blocks))
  }

  /** Decrypts a small stored file. Returns null for one that is damaged. */
  async openBytes(stored: Uint8Array): Promise<Uint8Array | null> {
    const nonce = nonceIn(stored)
    const bytes = Uint8Array.from(stored.subarray(headerBytes))
    if (!nonce || bytes.length === 0) return nonce && bytes
    return await this.#threads.run({ kind: 'open', key: this.#key, nonce, first: 0, bytes })
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
      const opening = this.#blocks(name, 'open', chunks, { nonce, first: position?.first ?? 0 })
      const blocks = opening[Symbol.asyncIterator]()
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

  #blocks(
    name: string,
    kind: BlockJob['kind'],
    chunks: AsyncIterable<Uint8Array>,
    { nonce, first }: StreamPosition,
  ): AsyncGenerator<Uint8Array> {
    const unit = kind === 'seal' ? blockBytes : storedBlockBytes
    let next = first
    return inOrder(gathered(chunks, unit), async bytes => {
      const job: BlockJob = { kind, key: this.#key, nonce, first: next, bytes }
      next += Math.ceil(bytes.length / unit)
      return await this.#run(name, job)
    })
  }

  /** @throws DAMAGED */
  async #run(name: string, job: BlockJob): Promise<Uint8Array> {
    const { first } = job
    const result = await this.#threads.run(job)
    if (result) return result
    throw damaged(name, `It cannot be decrypted at block ${first} or one of the next.`)
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

/** Gathers chunks to whole units, of which only the last may be shorter: one at first, then more, each in a buffer of its own. */
async function* gathered(chunks: AsyncIterable<Uint8Array>, unit: number): AsyncGenerator<Uint8Array> {
  let units = 1
  let buffer = new Uint8Array(unit)
  let length = 0
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; ) {
      const part = chunk.subarray(start, start + buffer.length - length)
      buffer.set(part, length)
      length += part.length
      start += part.length
      if (length < buffer.length) continue
      yield buffer
      units = Math.min(maxBlocks, units * 2)
      buffer = new Uint8Array(units * unit)
      length = 0
    }
  }
  if (length > 0) yield buffer.slice(0, length)
}

/** Yields the results in the order of the inputs, while others are under way. Whatever is ready first comes first. */
async function* inOrder<Input, Result>(
  inputs: AsyncGenerator<Input>,
  work: (input: Input) => Promise<Result>,
): AsyncGenerator<Result> {
  const running: Promise<Result>[] = []
  const advance = () => {
    const input = inputs.next().then(result => ({ input: result }))
    input.catch(() => {})
    return input
  }
  try {
    let next: ReturnType<typeof advance> | null = advance()
    while (next !== null || running.length > 0) {
      const [oldest] = running
      const output = oldest?.then(result => ({ output: result }))
      const input = running.length < depth ? next : null
      const event = await Promise.race([input, output].filter(each => each != null))
      if ('output' in event) {
        running.shift()
        yield event.output
      } else if (event.input.done) next = null
      else {
        const result = work(event.input.value)
        result.catch(() => {})
        running.push(result)
        next = advance()
      }
    }
  } finally {
    void inputs.return(undefined).catch(() => {})
  }
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
