/**
 * Reads an opened file at any position. Most clients read from the start to the end with several requests at once, so a back end
 * that streams sends one stream. A read elsewhere is a request for a range.
 */
import type { Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import type { Download, OpenedFile } from '../files/content.ts'

/** Reads `length` bytes from `position` into `target` at `at`. Resolves with the number of bytes: fewer only at the end of the file. */
export type ReadInto = (target: Buffer, at: number, position: number, length: number) => Promise<number>

/** @param signal aborts when the download is no longer allowed @throws NOT_A_FILE */
export function randomReads(
  { entry, location, opened }: Pick<Download, 'entry' | 'location' | 'opened'>,
  signal: AbortSignal,
): ReadInto {
  if (!opened || entry.kind === 'directory') throw new AppError('NOT_A_FILE', 'This is a folder: list it instead.')
  if (opened.kind === 'bytes')
    return async (target, at, position, length) => copyOf(opened.bytes, target, at, position, length)
  if (opened.kind === 'file') return (target, at, position, length) => readFully(opened, target, at, position, length)
  const ifMatch = entry.etag === null ? {} : { ifMatch: entry.etag }
  const open = async (range: { offset: number; length?: number }) =>
    (await location.read(signal, { range, ...ifMatch })).body
  const reads = new StreamReads(opened.body, open)
  signal.addEventListener('abort', () => reads.close(), { once: true })
  return (target, at, position, length) => reads.read(target, at, position, length)
}

function copyOf(bytes: Uint8Array, target: Buffer, at: number, position: number, length: number): number {
  const part = bytes.subarray(position, position + length)
  target.set(part, at)
  return part.length
}

async function readFully(
  { handle }: Extract<OpenedFile, { kind: 'file' }>,
  target: Buffer,
  at: number,
  position: number,
  length: number,
): Promise<number> {
  let total = 0
  while (total < length) {
    const { bytesRead } = await handle.read(target, at + total, length - total, position + total)
    if (bytesRead === 0) break
    total += bytesRead
  }
  return total
}

/** Bytes that are kept behind the position of the stream, and that it skips to reach a read: requests arrive slightly out of order. */
const windowBytes = 128 * 1024

/** Milliseconds without a read after which the stream is closed: a back end ends one that nobody reads. */
const idleTime = 10_000

/** Serves reads from one stream, one after another. A stream that breaks off is opened once more where it ended. */
class StreamReads {
  readonly #open: (range: { offset: number; length?: number }) => Promise<Readable>
  #body: Readable | null
  #chunks: AsyncIterator<Uint8Array> | null
  /** The latest bytes of the stream, which end at `#position`. */
  #kept: Uint8Array[] = []
  #keptBytes = 0
  #position = 0
  #isAtEnd = false
  #brokeAt = -1
  #idle: NodeJS.Timeout | undefined
  /** The end of the latest read outside of the stream. */
  #elsewhere = -1
  #latest: Promise<unknown> = Promise.resolve()

  constructor(body: Readable, open: (range: { offset: number; length?: number }) => Promise<Readable>) {
    this.#open = open
    this.#body = body
    this.#chunks = body[Symbol.asyncIterator]()
  }

  read(target: Buffer, at: number, position: number, length: number): Promise<number> {
    clearTimeout(this.#idle)
    const result = this.#latest.then(() => this.#read(target, at, position, length))
    this.#latest = result.catch(() => {})
    return result.finally(() => {
      clearTimeout(this.#idle)
      this.#idle = setTimeout(() => this.#release(), idleTime).unref()
    })
  }

  close(): void {
    clearTimeout(this.#idle)
    this.#release()
  }

  /** What is kept of the stream stays. */
  #release(): void {
    this.#body?.destroy()
    this.#body = null
    this.#chunks = null
  }

  async #read(target: Buffer, at: number, position: number, length: number): Promise<number> {
    if (!this.#reaches(position)) {
      // A second read that follows another one begins a stream.
      if (position !== this.#elsewhere) {
        this.#elsewhere = position + length
        return this.#readRange(target, at, position, length)
      }
      this.#restart(position)
    }
    while (this.#position < position + length && !this.#isAtEnd) await this.#advance(position)
    return this.#copy(target, at, position, length)
  }

  #reaches(position: number): boolean {
    if (position < this.#position - this.#keptBytes) return false
    return position <= this.#position + (this.#isAtEnd ? Number.POSITIVE_INFINITY : windowBytes)
  }

  #restart(position: number): void {
    this.#release()
    this.#kept = []
    this.#keptBytes = 0
    this.#position = position
    this.#isAtEnd = false
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#chunks) {
      this.#body = await this.#open({ offset: this.#position }).catch(nullAtEnd)
      this.#chunks = this.#body?.[Symbol.asyncIterator]() ?? null
    }
    return this.#chunks ? this.#chunks.next() : { done: true, value: undefined }
  }

  /** @param needed the first position that has to be kept */
  async #advance(needed: number): Promise<void> {
    const next = await this.#next().catch(error => {
      if (this.#brokeAt === this.#position) throw error
      this.#brokeAt = this.#position
      this.#release()
      return this.#next()
    })
    if (next.done) {
      this.#isAtEnd = true
      return
    }
    this.#kept.push(next.value)
    this.#keptBytes += next.value.length
    this.#position += next.value.length
    for (let first = this.#kept[0]; first; first = this.#kept[0]) {
      const rest = this.#keptBytes - first.length
      if (rest < windowBytes || this.#position - rest > needed) break
      this.#kept.shift()
      this.#keptBytes = rest
    }
  }

  #copy(target: Buffer, at: number, position: number, length: number): number {
    let copied = 0
    let start = this.#position - this.#keptBytes
    for (const chunk of this.#kept) {
      const from = Math.max(0, position + copied - start)
      if (from < chunk.length && copied < length) {
        const part = chunk.subarray(from, from + length - copied)
        target.set(part, at + copied)
        copied += part.length
      }
      start += chunk.length
    }
    return copied
  }

  async #readRange(target: Buffer, at: number, offset: number, length: number): Promise<number> {
    const body = await this.#open({ offset, length }).catch(nullAtEnd)
    if (!body) return 0
    let total = 0
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      const part = chunk.subarray(0, length - total)
      target.set(part, at + total)
      total += part.length
      if (total === length) break
    }
    return total
  }
}

function nullAtEnd(error: unknown): null {
  if (error instanceof AppError && error.reason === 'RANGE_NOT_SATISFIABLE') return null
  throw error
}
