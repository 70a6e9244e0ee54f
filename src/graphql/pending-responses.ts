import { AppError } from '../errors.ts'

const mib = 1024 * 1024

/** Bytes of all large responses together. */
const maxTotal = 128 * mib
/** Bytes of the large responses to one member, or to one network without a credential. */
const maxPerOwner = 32 * mib

/** Counts the bytes of large responses that are being built or that clients have not read yet. */
export class PendingResponses {
  #total = 0
  readonly #byOwner = new Map<string, number>()

  /** @throws RATE_LIMITED, UNAVAILABLE */
  add(owner: string, bytes: number): void {
    const own = (this.#byOwner.get(owner) ?? 0) + bytes
    const retryAfterMs = 5000
    if (own > maxPerOwner) {
      const message = `You have ${maxPerOwner / mib} MiB of unread responses: read them before you send more queries, or ask for smaller pages.`
      throw new AppError('RATE_LIMITED', message, { retryAfterMs })
    }
    if (this.#total + bytes > maxTotal) {
      const message = 'The server is sending too many large responses: try again in a few seconds.'
      throw new AppError('UNAVAILABLE', message, { retryAfterMs })
    }
    this.#total += bytes
    this.#byOwner.set(owner, own)
  }

  remove(owner: string, bytes: number): void {
    this.#total -= bytes
    const remaining = (this.#byOwner.get(owner) ?? 0) - bytes
    if (remaining > 0) this.#byOwner.set(owner, remaining)
    else this.#byOwner.delete(owner)
  }
}
