/** A body on its way through the scanner to the back end. */
import { Transform, type TransformCallback } from 'node:stream'
import { settle } from '../../lib/settle.ts'

interface ScannedBodyOptions {
  /** Delays a chunk until it was scanned. */
  onChunk: (chunk: Uint8Array) => Promise<void>
  /** Delays the end until the whole body was scanned. */
  onEnd: () => Promise<void>
  /** Called when everything that has arrived was passed on, and more is to come. It may be called again before it arrives. */
  onIdle: () => void
}

export class ScannedBody extends Transform {
  readonly #options: ScannedBodyOptions

  constructor(options: ScannedBodyOptions) {
    super({ highWaterMark: 64 * 1024 })
    this.#options = options
  }

  override _transform(chunk: Uint8Array, _encoding: BufferEncoding, done: TransformCallback): void {
    void settle(this.#options.onChunk(chunk), error => {
      done(error, chunk)
      this.#look()
    })
  }

  override _flush(done: TransformCallback): void {
    void settle(this.#options.onEnd(), done)
  }

  /** The reader takes more, so that a chunk may be passed on that was waiting for it. */
  override _read(size: number): void {
    super._read(size)
    this.#look()
  }

  /** A chunk counts in the length until the reader has room for it. */
  #look(): void {
    if (this.writableLength === 0 && !this.writableEnded) this.#options.onIdle()
  }
}
