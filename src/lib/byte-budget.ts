import { Counts } from './counts.ts'

/** Bytes. */
interface BudgetBounds {
  total: number
  /** The maximum of one owner. Default: the total */
  ofOwner?: number
  /** Bytes that each owner can have whatever the others take, so that small requests never fail because of large ones. */
  guaranteed?: number
}

/** Counts the bytes of memory that something takes, by their owners. It refuses at once, where `Limiter` waits. */
export class ByteBudget {
  readonly bounds: Required<BudgetBounds>
  readonly #byOwner = new Counts<string>()
  /** The bytes beyond those that are guaranteed to each owner. */
  #shared = 0

  constructor({ total, ofOwner = total, guaranteed = 0 }: BudgetBounds) {
    this.bounds = { total, ofOwner, guaranteed }
  }

  /** Returns null if the owner has the bytes now, and otherwise who has too many: the owner, or all owners together. */
  tryTake(owner: string, bytes: number): 'owner' | 'all' | null {
    const before = this.#byOwner.get(owner)
    if (before + bytes > this.bounds.ofOwner) return 'owner'
    const more = this.#beyond(before + bytes) - this.#beyond(before)
    if (this.#shared + more > this.bounds.total) return 'all'
    this.#shared += more
    this.#byOwner.add(owner, bytes)
    return null
  }

  release(owner: string, bytes: number): void {
    const before = this.#byOwner.get(owner)
    const released = Math.min(before, bytes)
    this.#shared += this.#beyond(before - released) - this.#beyond(before)
    this.#byOwner.add(owner, -released)
  }

  #beyond(bytes: number): number {
    return Math.max(0, bytes - this.bounds.guaranteed)
  }
}

/** The bytes that one request has of a budget without owners. */
export class BudgetShare implements Disposable {
  readonly #budget: ByteBudget
  #bytes = 0

  constructor(budget: ByteBudget) {
    this.#budget = budget
  }

  /** Returns false if there are not enough bytes. */
  tryTake(bytes: number): boolean {
    if (this.#budget.tryTake('', bytes) !== null) return false
    this.#bytes += bytes
    return true
  }

  /** Gives all bytes back. */
  release(): void {
    this.#budget.release('', this.#bytes)
    this.#bytes = 0
  }

  [Symbol.dispose](): void {
    this.release()
  }
}
