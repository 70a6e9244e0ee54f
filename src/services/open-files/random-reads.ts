/**
 * Reads an opened file at any position. Most clients read from the start to the end with several requests at once, so a back end
 * that streams sends one stream. A read elsewhere is a request for a range.
 */
import type { Readable } from 'node:stream'
import { AppError } from '../../errors.ts'
import { Limiter } from '../../lib/limiter.ts'
import type { Download, OpenedFile } from '../files/content.ts'
import type { FileEntry } from '../files/entry.ts'

/** Reads `length` bytes from `position` into `target` at `at`. Resolves with the number of bytes: fewer only at the end of the file. */
export type ReadInto = (target: Buffer, at: number, position: number, length: number) => Promise<number>

/** The reads of a file. Dispose of it when the file is closed. */
export interface RandomReads extends Disposable {
  /** @throws the reason of the signal, once it has aborted */
  read: ReadInto
}

/** @param signal aborts when the download is no longer allowed @throws NOT_A_FILE */
export function randomReads(
  { entry, location, opened }: Pick<Download, 'entry' | 'location' | 'opened'>,
  signal: AbortSignal,
): RandomReads {
  if (!opened || entry.kind === 'directory') throw new AppError('NOT_A_FILE', 'This is a folder: list it instead.')
  if (opened.kind === 'bytes') return whileAllowed(signal, async (...read) => copyOf(opened.bytes, ...read))
  if (opened.kind === 'file') return whileAllowed(signal, (...read) => readFully(opened, ...read))
  const reads = new StreamReads(opened.body, entry, range => openVersion(location, entry, range, signal))
  const close = () => reads.close()
  signal.addEventListener('abort', close, { once: true })
  return whileAllowed(
    signal,
    (...read) => reads.read(...read),
    () => {
      signal.removeEventListener('abort', close)
      close()
    },
  )
}

/** Bytes that were read may still be here after the right to them has ended. */
function whileAllowed(signal: AbortSignal, readInto: ReadInto, close = () => {}): RandomReads {
  return {
    async read(...read) {
      signal.throwIfAborted()
      try {
        return await readInto(...read)
      } finally {
        // The end of the right is also the reason of the errors that follow from it.
        signal.throwIfAborted()
      }
    },
    [Symbol.dispose]: close,
  }
}

/** Opens a part of the version that was opened before. @throws PRECONDITION_FAILED if there is another one */
async function openVersion(
  location: Download['location'],
  { etag, size, modifiedAt }: FileEntry,
  range: Range,
  signal: AbortSignal,
): Promise<Readable> {
  const { body, entry } = await location.read(signal, { range, ...(etag !== null && { ifMatch: etag }) })
  const isSame = etag !== null || (entry.size === size && entry.modifiedAt?.getTime() === modifiedAt?.getTime())
  if (isSame) return body
  body.destroy()
  throw new AppError('PRECONDITION_FAILED', 'The file has changed since it was opened: open it again.')
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

interface Range {
  offset: number
  length?: number
}

/**
 * Serves reads from one stream, one after another. A stream that breaks off is opened once more where it ended, if the version of the
 * file has an ETag: without one, the rest could be that of another version.
 */
class StreamReads {
  readonly #open: (range: Range) => Promise<Readable>
  readonly #canReopen: boolean
  /** Bytes of the file; null if the back end does not say. */
  readonly #size: number | null
  #body: Readable | null
  #chunks: AsyncIterator<Uint8Array> | null
  /** The latest bytes of the stream, which end at `#position`. */
  #kept: Uint8Array[] = []
  #keptBytes = 0
  #position = 0
  #isAtEnd = false
  #brokeAt = -1
  /** Why the stream cannot go on. */
  #failure: unknown
  #idle: NodeJS.Timeout | undefined
  /** Reads that have not ended. */
  #pending = 0
  /** The end of the latest read outside of the stream. */
  #elsewhere = -1
  readonly #reading = new Limiter(1)

  constructor(body: Readable, { etag, size }: FileEntry, open: (range: Range) => Promise<Readable>) {
    this.#open = open
    this.#canReopen = etag !== null
    this.#size = size
    this.#body = body
    this.#chunks = chunksOf(body)
    this.#awaitReads()
  }

  read(target: Buffer, at: number, position: number, length: number): Promise<number> {
    clearTimeout(this.#idle)
    this.#pending += 1
    const result = this.#reading.run(() => this.#read(target, at, position, length))
    return result.finally(() => {
      this.#pending -= 1
      if (this.#pending === 0) this.#awaitReads()
    })
  }

  #awaitReads(): void {
    clearTimeout(this.#idle)
    if (this.#canReopen) this.#idle = setTimeout(() => this.#release(), idleTime).unref()
  }

  close(): void {
    clearTimeout(this.#idle)
    this.#release()
  }

  /** The kept bytes of the stream stay. */
  #release(): void {
    this.#body?.destroy()
    this.#body = null
    this.#chunks = null
  }

  async #read(target: Buffer, at: number, position: number, length: number): Promise<number> {
    if (this.#size !== null && position >= this.#size) return 0
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
    this.#failure = undefined
  }

  /** @throws UNAVAILABLE at an end before that of the file */
  async #next(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#chunks) {
      this.#body = await this.#open({ offset: this.#position }).catch(nullAtEnd)
      this.#chunks = this.#body && chunksOf(this.#body)
    }
    const next: IteratorResult<Uint8Array> = (await this.#chunks?.next()) ?? { done: true, value: undefined }
    if (next.done && this.#size !== null && this.#position < this.#size) throw endsEarly()
    return next
  }

  /** Reads on after an error of the stream. An iterator that has failed would only say that it is at its end. */
  async #nextAfter(error: unknown): Promise<IteratorResult<Uint8Array>> {
    this.#release()
    const isSecond = this.#brokeAt === this.#position
    this.#brokeAt = this.#position
    if (!this.#canReopen) this.#failure = error
    if (!this.#canReopen || isSecond) throw error
    return this.#next().catch(again => {
      this.#release()
      throw again
    })
  }

  /** @param needed the first position that has to be kept */
  async #advance(needed: number): Promise<void> {
    if (this.#failure) throw this.#failure
    const next = await this.#next().catch(error => this.#nextAfter(error))
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
    if (!body && this.#size !== null) throw endsEarly()
    if (!body) return 0
    let total = 0
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      const part = chunk.subarray(0, length - total)
      target.set(part, at + total)
      total += part.length
      if (total === length) break
    }
    if (this.#size !== null && total < Math.min(length, this.#size - offset)) throw endsEarly()
    return total
  }
}

/** The iterator hears of errors from its first step on. */
function chunksOf(body: Readable): AsyncIterator<Uint8Array> {
  body.on('error', () => {})
  return body[Symbol.asyncIterator]()
}

function endsEarly(): AppError {
  return new AppError('UNAVAILABLE', 'The back end ended the content before the end of the file: read it again.')
}

function nullAtEnd(error: unknown): null {
  if (error instanceof AppError && error.reason === 'RANGE_NOT_SATISFIABLE') return null
  throw error
}
