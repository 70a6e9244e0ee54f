import { orAborted } from '../../adapters/contract.ts'
import { startDeadline } from '../lib/timeout.ts'

/** Admits a bounded number of transfers at once, in the order of their arrival. */
export class Lane {
  #free: number
  readonly #waiting = new Set<() => void>()
  readonly #timeout: number
  readonly #busy: () => Error

  /**
   * @param timeout milliseconds for which a transfer waits
   * @param busy makes the error after that time
   */
  constructor(max: number, timeout: number, busy: () => Error) {
    this.#free = max
    this.#timeout = timeout
    this.#busy = busy
  }

  /** Resolves, once there is room, with the function that makes room again. @throws the error of `busy`; the signal's reason */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free -= 1
    else await this.#turn(signal)
    let isIn = true
    return () => {
      if (isIn) this.#leave()
      isIn = false
    }
  }

  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const leave = await this.enter(signal)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    using deadline = startDeadline(this.#timeout, this.#busy, signal)
    try {
      await orAborted(promise, deadline.signal)
    } catch (error) {
      // The turn may have come together with the abort.
      if (!this.#waiting.delete(resolve)) this.#leave()
      throw error
    }
  }

  #leave(): void {
    const [next] = this.#waiting
    if (next) {
      this.#waiting.delete(next)
      next()
    } else this.#free += 1
  }
}
