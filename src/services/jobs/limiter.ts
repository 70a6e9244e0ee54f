/** Runs at most `limit` pieces of work at once, in the order of the calls. */
export class Limiter {
  readonly #limit: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#running += 1
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running -= 1
    }
  }
}

/** Waits until all have settled, so that no work is left running. @throws the first error */
export async function allDone(work: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(work)
  const failed = results.find(result => result.status === 'rejected')
  if (failed) throw failed.reason
}
