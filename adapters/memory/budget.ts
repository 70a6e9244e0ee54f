import { totalmem } from 'node:os'
import { StorageError } from '../contract.ts'

/** Bytes that one provider may be given. */
export const maxProviderBytes = 256 * 1024 * 1024

/**
 * Bytes of all memory providers of this process: a quarter of the memory that the process may use, 256 MiB at most. So they
 * can neither end the server nor make its machine swap, however many there are.
 */
export const sharedBytes = Math.min(maxProviderBytes, Math.floor(usableMemory() / 4))

/** Bytes: what the control group allows, where it does (a container). */
function usableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/** Counts bytes that are taken, up to a limit, and in the budget that this one is a part of. */
export class Budget {
  readonly limit: number
  readonly #whole: Budget | undefined
  readonly #refusal: string
  #used = 0

  /** @param refusal the sentence for the person whose write does not fit */
  constructor(limit: number, refusal: string, whole?: Budget) {
    this.limit = limit
    this.#refusal = refusal
    this.#whole = whole
  }

  get used(): number {
    return this.#used
  }

  /** Bytes that can still be taken. */
  get left(): number {
    return Math.min(this.limit - this.#used, this.#whole?.left ?? Number.POSITIVE_INFINITY)
  }

  /** @throws QUOTA_EXCEEDED */
  take(bytes: number): void {
    if (this.#used + bytes > this.limit) throw new StorageError('QUOTA_EXCEEDED', this.#refusal)
    this.#whole?.take(bytes)
    this.#used += bytes
  }

  giveBack(bytes: number): void {
    this.#whole?.giveBack(bytes)
    this.#used -= bytes
  }
}
