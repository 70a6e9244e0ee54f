import { AppError } from '../errors.ts'

const mib = 1024 * 1024

/** Bytes of all responses together. */
const maxTotal = 128 * mib
/** Bytes of the responses to one member, or to one network without a credential. */
const maxPerHolder = 32 * mib

/** The bytes of large responses that are being built, or that their clients have not read yet. */
export class HeldResponses {
  #total = 0
  readonly #byHolder = new Map<string, number>()

  /** @throws RATE_LIMITED, UNAVAILABLE */
  add(holder: string, bytes: number): void {
    const own = (this.#byHolder.get(holder) ?? 0) + bytes
    const retryAfterMs = 5000
    if (own > maxPerHolder) {
      const message = `Your responses hold ${maxPerHolder / mib} MiB: read them before you ask for more, or ask for smaller pages.`
      throw new AppError('RATE_LIMITED', message, { retryAfterMs })
    }
    if (this.#total + bytes > maxTotal) {
      const message = 'The server is sending too many large responses: try again in a few seconds.'
      throw new AppError('UNAVAILABLE', message, { retryAfterMs })
    }
    this.#total += bytes
    this.#byHolder.set(holder, own)
  }

  remove(holder: string, bytes: number): void {
    this.#total -= bytes
    const left = (this.#byHolder.get(holder) ?? 0) - bytes
    if (left > 0) this.#byHolder.set(holder, left)
    else this.#byHolder.delete(holder)
  }
}
