/**
 * A map with a bounded size: once its values are too many, it forgets the entries that were used least recently. Reading or
 * writing an entry uses it.
 */
export class LruMap<Key, Value> {
  readonly #max: number
  readonly #sizeOf: (value: Value) => number
  readonly #onForget: (key: Key, value: Value) => void
  /** The least recently used entry is first. */
  readonly #entries = new Map<Key, Value>()
  #size = 0
  #latest: Key | undefined

  /**
   * @param max the maximum of the sizes of all values together
   * @param options.sizeOf default: each value has the size 1
   * @param options.onForget runs for each entry that makes room for others
   */
  constructor(
    max: number,
    options: { sizeOf?: (value: Value) => number; onForget?: (key: Key, value: Value) => void } = {},
  ) {
    this.#max = max
    this.#sizeOf = options.sizeOf ?? (() => 1)
    this.#onForget = options.onForget ?? (() => {})
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key)
    // Writing to the map for each of several reads of one entry would burden the garbage collector.
    if (value === undefined || key === this.#latest) return value
    this.#entries.delete(key)
    this.#entries.set(key, value)
    this.#latest = key
    return value
  }

  /** Returns a value without using its entry. */
  peek(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  set(key: Key, value: Value): void {
    this.delete(key)
    this.#entries.set(key, value)
    this.#size += this.#sizeOf(value)
    this.#latest = key
    for (const [oldest, forgotten] of this.#entries) {
      if (this.#size <= this.#max) return
      this.delete(oldest)
      this.#onForget(oldest, forgotten)
    }
  }

  delete(key: Key): void {
    const value = this.#entries.get(key)
    if (value === undefined) return
    this.#entries.delete(key)
    this.#size -= this.#sizeOf(value)
  }

  clear(): void {
    this.#entries.clear()
    this.#size = 0
  }

  /** Iterates over the entries without using them, the least recently used first. */
  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.#entries[Symbol.iterator]()
  }
}
