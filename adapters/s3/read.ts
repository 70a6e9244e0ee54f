import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError } from '../contract.ts'
import { unreachable, type Where } from './errors.ts'

export interface Source {
  /** The bytes from a position up to the end of what was asked for. */
  open(position: number, signal: AbortSignal): Promise<Readable>
  signal: AbortSignal
  /** Milliseconds without a byte that was waited for. */
  idleTime: number
  where: Where
}

/** Without a byte in between. */
const maxAttempts = 4
/** Milliseconds, doubled each time. */
const firstDelay = 100

/** Bytes `start` up to `end`. Where a connection drops, it goes on from where it stood, over a new one. */
export class ObjectBody extends Readable {
  readonly #source: Source
  readonly #end: number
  readonly #closing = new AbortController()
  #position: number
  #stream: Readable | undefined
  #wanted = false
  #attempts = 0
  #timer: NodeJS.Timeout | undefined

  constructor(stream: Readable, { start, end }: { start: number; end: number }, source: Source) {
    super()
    this.#position = start
    this.#end = end
    this.#source = source
    source.signal.addEventListener('abort', this.#onAbort, { once: true })
    this.#attach(stream)
    if (source.signal.aborted) this.#onAbort()
  }

  override _read(): void {
    this.#wanted = true
    if (this.#position >= this.#end) this.#finish()
    else this.#go()
  }

  #attach(stream: Readable): void {
    this.#stream = stream
    stream.pause()
    // Not by "readable" and read(), which joins chunks and so copies them.
    stream.on('data', (chunk: Buffer) => this.#take(stream, chunk))
    stream.once('error', error => this.#dropped(stream, error))
    stream.once('close', () => this.#dropped(stream, Object.assign(new Error('closed early'), { code: 'ECONNRESET' })))
    stream.once('end', () => this.#dropped(stream, Object.assign(new Error('ended early'), { code: 'ECONNRESET' })))
    if (this.#wanted) this.#go()
  }

  /** Time counts only while a byte is waited for. */
  #go(): void {
    const stream = this.#stream
    if (!stream) return
    this.#timer ??= setTimeout(() => {
      stream.destroy(Object.assign(new Error('no byte came in time'), { code: 'ETIMEDOUT' }))
    }, this.#source.idleTime)
    stream.resume()
  }

  #take(stream: Readable, chunk: Buffer): void {
    if (stream !== this.#stream) return
    this.#timer?.refresh()
    this.#attempts = 0
    this.#position += chunk.length
    if (this.#position > this.#end) {
      this.destroy(new StorageError('UNAVAILABLE', 'The back end sent more than the file has: read it again.'))
      return
    }
    // Whoever reads may ask for more before `push` returns.
    this.#wanted = false
    if (this.push(chunk)) this.#wanted = true
    if (this.#position === this.#end) this.#finish()
    else if (!this.#wanted) {
      stream.pause()
      this.#clearTimer()
    }
  }

  #finish(): void {
    this.#clearTimer()
    // Read to its end, so that the connection can serve others.
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
    if (this.#attempts >= maxAttempts) throw unreachable(error, this.#source.where)
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
