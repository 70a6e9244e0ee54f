/** One subscription: the latest value of each key that its client has not read yet. */
export abstract class Subscription<Value, Event> implements AsyncIterableIterator<Event> {
  readonly #onEnd: () => void
  readonly #unread = new Map<string, Value>()
  #failure: unknown
  #isEnded = false
  #change = Promise.withResolvers<void>()

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  /** Returns the event of a value that the client reads now, or null to skip the value. An error ends the subscription. */
  protected abstract toEvent(value: Value): Event | null | Promise<Event | null>

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** The number of values that the client has not read. */
  protected get unread(): number {
    return this.#unread.size
  }

  protected hasUnread(key: string): boolean {
    return this.#unread.has(key)
  }

  /** Adds a value, or replaces the unread one of the same key. */
  protected add(key: string, value: Value): void {
    if (this.#isEnded) return
    this.#unread.set(key, value)
    this.#change.resolve()
  }

  protected clear(): void {
    this.#unread.clear()
  }

  /** Makes the subscription fail. */
  cancel(reason: unknown): void {
    if (this.#isEnded) return
    this.#failure = reason
    this.#end()
  }

  /** Makes the subscription fail with the reason of the signal when it aborts. */
  cancelWith(signal: AbortSignal): void {
    const onAbort = () => this.cancel(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  }

  async next(): Promise<IteratorResult<Event, undefined>> {
    for (;;) {
      const [first] = this.#unread
      if (first) {
        const [key, value] = first
        this.#unread.delete(key)
        const event = await this.#eventOf(value)
        if (event !== null && !this.#isEnded) return { done: false, value: event }
      } else if (this.#failure) throw this.#failure
      else if (this.#isEnded) return { done: true, value: undefined }
      else {
        this.#change = Promise.withResolvers()
        await this.#change.promise
      }
    }
  }

  async return(): Promise<IteratorResult<Event, undefined>> {
    this.#end()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #eventOf(value: Value): Promise<Event | null> {
    try {
      return await this.toEvent(value)
    } catch (error) {
      this.cancel(error)
      return null
    }
  }

  #end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#unread.clear()
    this.#change.resolve()
    this.#onEnd()
  }
}
