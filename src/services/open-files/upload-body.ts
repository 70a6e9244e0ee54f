import { Readable } from 'node:stream'
import { AppError } from '../../errors.ts'

/** Bytes that wait for the back end. */
const streamBytes = 256 * 1024

/** Bytes below which pieces are joined, because each piece that waits takes some hundred bytes more than it has. */
const pieceBytes = 4096
/** Bytes of joined pieces that are passed on together. */
const blockBytes = 64 * 1024

/** The body of an upload whose bytes arrive in pieces of any size. */
export class UploadBody extends Readable {
  #resume: (() => void) | null = null
  /** Small pieces that are not passed on yet. */
  #block: Buffer | null = null
  #blockBytes = 0

  constructor() {
    super({ highWaterMark: streamBytes })
    // The write or the end reports the error.
    this.on('error', () => {})
  }

  override _read(): void {
    this.#resume?.()
    this.#resume = null
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#resume?.()
    this.#block = null
    done(error)
  }

  /** Resolves when there is room for more. @throws the error of the upload */
  async add(bytes: Buffer): Promise<void> {
    if (this.destroyed) throw this.errored ?? new AppError('INCOMPLETE_BODY')
    const hasRoom = bytes.length < pieceBytes ? this.#join(bytes) : this.#pass(bytes)
    if (hasRoom) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#resume = resolve
    await promise
    if (this.errored) throw this.errored
  }

  /** Ends the body. */
  finish(): void {
    this.#flush()
    this.push(null)
  }

  /** Returns whether there is room for more. */
  #pass(bytes: Buffer): boolean {
    this.#flush()
    return this.push(bytes)
  }

  /** Returns whether there is room for more. */
  #join(bytes: Buffer): boolean {
    const hasRoom = this.#blockBytes + bytes.length <= blockBytes || this.#flush()
    this.#block ??= Buffer.allocUnsafeSlow(blockBytes)
    this.#blockBytes += bytes.copy(this.#block, this.#blockBytes)
    return hasRoom
  }

  /** Returns whether there is room for more. */
  #flush(): boolean {
    const block = this.#block?.subarray(0, this.#blockBytes)
    this.#block = null
    this.#blockBytes = 0
    return block === undefined || this.push(block)
  }
}
