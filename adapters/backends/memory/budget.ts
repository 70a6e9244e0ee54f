import { totalmem } from 'node:os'
import { StorageError } from '../../contract.ts'

/** The maximum number of bytes of one provider. */
export const maxProviderBytes = 256 * 1024 * 1024

/**
 * The maximum number of bytes of all memory providers of this process: a quarter of the memory that the process may use, at
 * most 256 MiB. They can neither exhaust the server's memory nor make the machine swap.
 */
export const sharedBytes = Math.min(maxProviderBytes, Math.floor(usableMemory() / 4))

/** Returns the bytes of memory of the machine, or of the control group (a container) if that is less. */
function usableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/** Counts bytes in use up to a limit. A budget can be part of a larger one. */
export class Budget {
  readonly limit: number
  readonly #whole: Budget | undefined
  readonly #refusal: string
  #used = 0

  /** @param refusal the message of the error for a write that does not fit */
  constructor(limit: number, refusal: string, whole?: Budget) {
    this.limit = limit
    this.#refusal = refusal
    this.#whole = whole
  }

  get used(): number {
    return this.#used
  }

  /** The number of bytes that are free. */
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
