/** Counts by key. A key whose count is 0 takes no memory. */
export class Counts<Key> {
  readonly #counts = new Map<Key, number>()

  get(key: Key): number {
    return this.#counts.get(key) ?? 0
  }

  /** Returns the count after the change. */
  add(key: Key, change = 1): number {
    const count = this.get(key) + change
    if (count === 0) this.#counts.delete(key)
    else this.#counts.set(key, count)
    return count
  }

  /** Adds 1 until the result is disposed of, once or several times. */
  hold(key: Key): Disposable {
    this.add(key)
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.add(key, -1)
        isHeld = false
      },
    }
  }

  clear(): void {
    this.#counts.clear()
  }

  /** Iterates over the counts that are not 0. */
  [Symbol.iterator](): MapIterator<[Key, number]> {
    return this.#counts[Symbol.iterator]()
  }
}
