import { orAborted } from '../../contract.ts'

/** Runs one call at a time for each key, within this process. */
export class Locks {
  readonly #last = new Map<string, Promise<void>>()

  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const { promise: mine, resolve: release } = Promise.withResolvers<void>()
    const tail = before.then(() => mine)
    this.#last.set(key, tail)
    try {
      await orAborted(before, signal)
      return await work()
    } finally {
      release()
      if (this.#last.get(key) === tail) this.#last.delete(key)
    }
  }
}
