import { Readable } from 'node:stream'
import { AppError } from '../../errors.ts'

/** Bytes that wait for the back end. */
const streamBytes = 256 * 1024

/** The body of an upload whose bytes arrive one by one. */
export class UploadBody extends Readable {
  #resume: (() => void) | null = null

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
    done(error)
  }

  /** Resolves when there is room for more. @throws the error of the upload */
  async add(bytes: Buffer): Promise<void> {
    if (this.destroyed) throw this.errored ?? new AppError('INCOMPLETE_BODY')
    if (this.push(bytes)) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#resume = resolve
    await promise
    if (this.errored) throw this.errored
  }
}
