import { AppError } from '../../errors.ts'

/** Keeps the order of operations on one open file or folder. Reads run at the same time. */
export class Turns {
  #exclusive: Promise<unknown> = Promise.resolve()
  readonly #shared = new Set<Promise<unknown>>()
  #isOver = false

  /** @throws INVALID_INPUT after the last turn has been given */
  async share<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw notOpen()
    const result = this.#exclusive.then(work)
    const settled = result.catch(() => {})
    this.#shared.add(settled)
    try {
      return await result
    } finally {
      this.#shared.delete(settled)
    }
  }

  /** @throws INVALID_INPUT after the last turn has been given */
  async exclude<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw notOpen()
    const result = Promise.all([this.#exclusive, ...this.#shared]).then(work)
    this.#exclusive = result.catch(() => {})
    return result
  }

  /** Closes what the turns are about, after all others. */
  last<T>(work: () => Promise<T>): Promise<T> {
    const result = this.exclude(work)
    this.#isOver = true
    return result
  }
}

export function notOpen(): AppError {
  return new AppError('INVALID_INPUT', 'There is no such open file or folder.')
}
