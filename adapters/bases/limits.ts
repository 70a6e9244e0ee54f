/** Bounds on what runs, waits or stays in memory: one mechanism each, for all adapters. */
import { orAborted } from '../contract.ts'

interface Waiting {
  amount: number
  resolve(): void
}

/** A number of slots, or of bytes, that callers take and give back. A caller that has to wait gets its turn in order. */
export class Capacity {
  #free: number
  readonly #waiting = new Set<Waiting>()

  constructor(total: number) {
    this.#free = total
  }

  /** Takes at once, or returns false. @param reserve the amount that stays for callers of `take` */
  tryTake(amount: number, reserve = 0): boolean {
    if (this.#waiting.size > 0 || amount + reserve > this.#free) return false
    this.#free -= amount
    return true
  }

  /** @throws the reason of the signal, which ends only the wait */
  async take(amount: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.tryTake(amount)) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const entry: Waiting = { amount, resolve }
    this.#waiting.add(entry)
    try {
      await orAborted(promise, signal)
    } catch (error) {
      // The turn may have come together with the abort.
      this.give(this.#waiting.delete(entry) ? 0 : amount)
      throw error
    }
  }

  give(amount: number): void {
    this.#free += amount
    for (const waiting of this.#waiting) {
      if (waiting.amount > this.#free) return
      this.#waiting.delete(waiting)
      this.#free -= waiting.amount
      waiting.resolve()
    }
  }

  /** Runs `work` with one slot. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.take(1, signal)
    try {
      return await work()
    } finally {
      this.give(1)
    }
  }
}

/**
 * Runs `work` for each item, `atOnce` at the same time. After the first failure it begins no further item, and it rejects once
 * nothing is running any more.
 */
export async function inParallel<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = [...items].values()
  let failure: { error: unknown } | undefined
  const worker = async () => {
    // All workers share one iterator, so each item is taken once.
    for (const item of rest) {
      if (failure) return
      await work(item).catch(error => {
        failure ??= { error }
      })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  if (failure) throw failure.error
}

/** A map that drops the entries that were not used for the longest time once all together are too large. */
export class LruMap<Key, Value> {
  readonly #max: number
  readonly #sizeOf: (value: Value) => number
  readonly #onDrop: (value: Value) => void
  readonly #entries = new Map<Key, Value>()
  #size = 0

  /** @param max the sum of the sizes; without `sizeOf`, the number of entries */
  constructor(
    max: number,
    {
      sizeOf = () => 1,
      onDrop = () => {},
    }: { sizeOf?: (value: Value) => number; onDrop?: (value: Value) => void } = {},
  ) {
    this.#max = max
    this.#sizeOf = sizeOf
    this.#onDrop = onDrop
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    // A map keeps the order of insertion, so this makes the entry the last one to be dropped.
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  /** A value that is larger than the whole map is not kept. */
  set(key: Key, value: Value): void {
    this.delete(key)
    const size = this.#sizeOf(value)
    if (size > this.#max) return
    this.#entries.set(key, value)
    this.#size += size
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#max) return
      this.delete(oldest)
    }
  }

  delete(key: Key): void {
    const value = this.#entries.get(key)
    if (value === undefined) return
    this.#entries.delete(key)
    this.#size -= this.#sizeOf(value)
    this.#onDrop(value)
  }

  keys(): IterableIterator<Key> {
    return this.#entries.keys()
  }
}
