/** Reads of objects, which continue over new connections when one is lost. */
import { Readable } from 'node:stream'
import { type ByteRange, StorageError } from '../../contract.ts'
import { hasCode } from '../errors.ts'
import { type Backoff, delayBefore, pause } from '../retry.ts'

/** A response that has begun. */
export interface OpenedObject {
  stream: Readable
  /** Bytes of the response. */
  length: number
  etag: string | null
}

interface ObjectSource<T extends OpenedObject> {
  /** @param etag the only version to read; undefined or null for any */
  get(range: ByteRange | undefined, etag: string | null | undefined, signal: AbortSignal): Promise<T>
  /** As in `BodySource`. */
  idleTime: number
  unreachable(error: Error): Error
}

/** Opens an object, or a range of it. The body continues over new connections while the object has the same version. */
export async function openObject<T extends OpenedObject>(
  { get, idleTime, unreachable }: ObjectSource<T>,
  { range, ifMatch, signal }: { range?: ByteRange | undefined; ifMatch?: string | undefined; signal: AbortSignal },
): Promise<{ opened: T; body: ObjectBody }> {
  const opened = await get(range, ifMatch, signal)
  const start = range?.offset ?? 0
  const end = start + opened.length
  const open = async (position: number, callSignal: AbortSignal) => {
    const rest = { offset: position, length: end - position }
    const again = await get(rest, opened.etag, callSignal).catch(error => {
      if (!hasCode(error, 'PRECONDITION_FAILED', 'NOT_FOUND', 'RANGE_NOT_SATISFIABLE')) throw error
      throw new StorageError('UNAVAILABLE', 'The file changed while it was read: read it again.', { cause: error })
    })
    return again.stream
  }
  return { opened, body: new ObjectBody(opened.stream, { start, end }, { open, signal, idleTime, unreachable }) }
}

/**
 * Returns the bytes of the whole object.
 * @param length the bytes of the response
 * @param contentRange the header of that name
 * @throws UNAVAILABLE for a response that does not have the range
 */
export function sizeOf(range: ByteRange | undefined, length: number | undefined, contentRange: string): number {
  const [, first, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(contentRange) ?? []
  const size = range ? total : length
  const isRight = !range || (Number(first) === range.offset && range.offset < Number(size))
  if (length !== undefined && size !== undefined && isRight) return Number(size)
  throw new StorageError('UNAVAILABLE', 'The back end does not say which part of the file it sends.')
}

export interface BodySource {
  /** Returns a new stream from `position` to the end of the requested range. */
  open(position: number, signal: AbortSignal): Promise<Readable>
  signal: AbortSignal
  /** Milliseconds without a byte, while the reader waits, after which the connection counts as dropped. */
  idleTime: number
  /** Returns the error for the last of several failures of the connection. */
  unreachable(error: Error): Error
}

/** For connection failures in a row without a byte in between. */
const backoff: Backoff = { first: 100, longest: 1_000, attempts: 4 }

/** The bytes from `start` to `end`, exclusive. When a connection drops, it continues at the same byte over a new one. */
class ObjectBody extends Readable {
  readonly #source: BodySource
  readonly #end: number
  readonly #closing = new AbortController()
  #position: number
  #stream: Readable | undefined
  #isWanted = false
  #attempts = 0
  #timer: NodeJS.Timeout | undefined

  constructor(stream: Readable, { start, end }: { start: number; end: number }, source: BodySource) {
    super()
    this.#position = start
    this.#end = end
    this.#source = source
    source.signal.addEventListener('abort', this.#onAbort, { once: true })
    this.#attach(stream)
    if (source.signal.aborted) this.#onAbort()
  }

  override _read(): void {
    this.#isWanted = true
    if (this.#position >= this.#end) this.#finish()
    else this.#resume()
  }

  #attach(stream: Readable): void {
    this.#stream = stream
    stream.pause()
    // `readable` and `read()` would join chunks and so copy them.
    stream.on('data', (chunk: Buffer) => this.#take(stream, chunk))
    stream.once('error', error => this.#dropped(stream, error))
    stream.once('close', () => this.#dropped(stream, Object.assign(new Error('closed early'), { code: 'ECONNRESET' })))
    stream.once('end', () => this.#dropped(stream, Object.assign(new Error('ended early'), { code: 'ECONNRESET' })))
    if (this.#isWanted) this.#resume()
  }

  /** The idle timer runs only while the reader waits for a byte. */
  #resume(): void {
    const stream = this.#stream
    if (!stream) return
    this.#timer ??= setTimeout(() => {
      stream.destroy(Object.assign(new Error('no byte arrived in time'), { code: 'ETIMEDOUT' }))
    }, this.#source.idleTime)
    stream.resume()
  }

  #take(stream: Readable, chunk: Buffer): void {
    if (stream !== this.#stream) return
    this.#timer?.refresh()
    this.#attempts = 0
    this.#position += chunk.length
    if (this.#position > this.#end) {
      this.destroy(new StorageError('UNAVAILABLE', 'The back end sent more bytes than the file has: read it again.'))
      return
    }
    // The reader may call `_read` before `push` returns.
    this.#isWanted = false
    if (this.push(chunk)) this.#isWanted = true
    if (this.#position === this.#end) this.#finish()
    else if (!this.#isWanted) {
      stream.pause()
      this.#clearTimer()
    }
  }

  #finish(): void {
    this.#clearTimer()
    // Drain the response, so that its connection can be reused.
    this.#stream?.resume()
    this.#stream = undefined
    this.push(null)
  }

  #clearTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #dropped(stream: Readable, error: Error): void {
    if (stream !== this.#stream || this.destroyed || this.#position >= this.#end) return
    this.#stream = undefined
    this.#clearTimer()
    stream.destroy()
    this.#reopen(error).catch(failure => this.destroy(failure))
  }

  async #reopen(error: Error): Promise<void> {
    this.#attempts += 1
    if (this.#attempts >= backoff.attempts) throw this.#source.unreachable(error)
    const { signal } = this.#closing
    await pause(delayBefore(this.#attempts - 1, backoff), signal)
    this.#attach(await this.#source.open(this.#position, signal))
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#source.signal.removeEventListener('abort', this.#onAbort)
    this.#clearTimer()
    this.#closing.abort(error)
    this.#stream?.destroy()
    this.#stream = undefined
    callback(error)
  }

  readonly #onAbort = () => {
    this.destroy(this.#source.signal.reason)
  }
}
