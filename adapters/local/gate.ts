/** Lets a few in at a time, in the order in which they come. */
export class Gate {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(width: number) {
    this.#free = width
  }

  async through<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }
}
