/**
 * Mechanisms that all layers use, one of each kind: bounds on concurrent work and on memory, retries, polling, leases and
 * timeouts. They know nothing of files. Pieces of work and values enter, and their results leave.
 */

/**
 * Runs at most `limit` pieces of work at once, in the order of the calls, for one owner or for one task: any number waits. `Slots`
 * refuses instead of waiting, and `FairQueue` lets owners take turns.
 */
export class Limiter {
  #limit: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get limit(): number {
    return this.#limit
  }

  /** A lower limit takes effect as running work ends. */
  set limit(limit: number) {
    this.#limit = limit
    this.#start()
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await new Promise<void>(resolve => {
      this.#waiting.push(resolve)
      this.#start()
    })
    try {
      return await work()
    } finally {
      this.#running -= 1
      this.#start()
    }
  }

  #start(): void {
    while (this.#running < this.#limit) {
      const next = this.#waiting.shift()
      if (!next) return
      this.#running += 1
      next()
    }
  }
}

/** Waits until all have settled, so that no work is left running. @throws the first error */
export async function allDone(work: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(work)
  const failed = results.find(result => result.status === 'rejected')
  if (failed) throw failed.reason
}

/** Applies `work` to all items, at most `limit` at once. Returns the results in the order of the items. @throws the first error */
export async function mapAtMost<Item, Result>(
  limit: number,
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const limiter = new Limiter(limit)
  const running = items.map(item => limiter.run(() => work(item)))
  await allDone(running)
  return Promise.all(running)
}
