import { AppError } from '../errors.ts'

const mib = 1024 * 1024
const retryAfterMs = 5000

/** Bytes. */
export interface BudgetBounds {
  total: number
  ofOwner: number
  /** Bytes that each owner can have whatever the others take, so that small requests never fail because of large ones. */
  guaranteed: number
}

/** Counts the bytes of memory that requests take, by their owners. */
export class ByteBudget {
  readonly #bounds: BudgetBounds
  readonly #byOwner = new Map<string, number>()
  /** The bytes beyond those that are guaranteed to each owner. */
  #shared = 0

  constructor(bounds: BudgetBounds) {
    this.#bounds = bounds
  }

  /** @throws RATE_LIMITED if the owner has too many bytes; UNAVAILABLE if all owners together have */
  take(owner: string, bytes: number): void {
    const { total, ofOwner } = this.#bounds
    const before = this.#byOwner.get(owner) ?? 0
    const after = before + bytes
    if (after > ofOwner) {
      const message = `You have ${ofOwner / mib} MiB of requests and responses that are not complete: read the responses before you send more, or ask for smaller pages.`
      throw new AppError('RATE_LIMITED', message, { retryAfterMs })
    }
    const shared = this.#shared + this.#beyond(after) - this.#beyond(before)
    if (shared > total) {
      const message = 'The server has too many large requests and responses: try again in a few seconds.'
      throw new AppError('UNAVAILABLE', message, { retryAfterMs })
    }
    this.#shared = shared
    this.#byOwner.set(owner, after)
  }

  release(owner: string, bytes: number): void {
    const before = this.#byOwner.get(owner) ?? 0
    const after = Math.max(0, before - bytes)
    this.#shared += this.#beyond(after) - this.#beyond(before)
    if (after > 0) this.#byOwner.set(owner, after)
    else this.#byOwner.delete(owner)
  }

  #beyond(bytes: number): number {
    return Math.max(0, bytes - this.#bounds.guaranteed)
  }
}
