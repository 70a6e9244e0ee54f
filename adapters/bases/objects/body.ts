import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError } from '../../contract.ts'

export interface BodySource {
  /** Returns a new stream from `position` to the end of the requested range. */
  open(position: number, signal: AbortSignal): Promise<Readable>
  signal: AbortSignal
  /** Milliseconds without a byte, while the reader waits, after which the connection counts as dropped. */
  idleTime: number
  /** Returns the error for the last of several failures of the connection. */
  unreachable(error: Error): StorageError
}

/** The maximum number of connection failures in a row without a byte in between. */
const maxAttempts = 4
/** Milliseconds before the first retry; doubled each time. */
const firstDelay = 100

/** The bytes from `start` to `end`, exclusive. When a connection drops, it continues at the same byte over a new one. */
export class ObjectBody extends Readable {
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
    if (this.#attempts >= maxAttempts) throw this.#source.unreachable(error)
    const { signal } = this.#closing
    await sleep(firstDelay * 2 ** (this.#attempts - 1), undefined, { signal })
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
