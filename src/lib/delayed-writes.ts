/** Gathers values by key, and writes those of a short time together. A write begins when the one before has ended. */
export class DelayedWrites<Value> {
  readonly #delay: number
  readonly #write: (values: ReadonlyMap<string, Value>) => Promise<void>
  #pending = new Map<string, Value>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  /**
   * @param delay milliseconds that a value waits for others
   * @param write never rejects
   */
  constructor(delay: number, write: (values: ReadonlyMap<string, Value>) => Promise<void>) {
    this.#delay = delay
    this.#write = write
  }

  /** @param change returns the value to write, from the one of this key that waits already */
  put(key: string, change: (pending: Value | undefined) => Value): void {
    this.#pending.set(key, change(this.#pending.get(key)))
    this.#timer ??= setTimeout(() => void this.flush(), this.#delay).unref()
  }

  /** Writes what waits, and resolves after all writes. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const values = this.#pending
    this.#pending = new Map()
    if (values.size > 0) this.#writing = this.#writing.then(() => this.#write(values))
    return this.#writing
  }
}
