import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds after which a waiting chunk looks at the rate again, which may have changed. */
const checkInterval = 250
/** The seconds of unused rate that may be used later. */
const burst = 0.25

/** Delays chunks of bytes, in the order of the calls, so that no more than a number of bytes passes per second. */
export class Throttle {
  #rate: number | null = null
  /** Bytes that may pass now. A chunk passes if this is not negative, and may make it negative. */
  #balance = 0
  #updatedAt = performance.now()
  #last: Promise<void> = Promise.resolve()
  #waiting = 0

  /** @param rate bytes per second; null is no limit */
  set rate(rate: number | null) {
    this.#update()
    this.#rate = rate
  }

  /** Resolves once the bytes may pass. Returns undefined if they may pass at once. @throws the signal's reason */
  pass(bytes: number, signal: AbortSignal): Promise<void> | undefined {
    if (this.#rate === null && this.#waiting === 0) return undefined
    this.#waiting += 1
    const turn = this.#last
      .then(() => this.#wait(bytes, signal))
      .finally(() => {
        this.#waiting -= 1
      })
    this.#last = turn.catch(() => {})
    return turn
  }

  async #wait(bytes: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      this.#update()
      if (this.#rate === null || this.#balance >= 0) break
      const milliseconds = Math.min((-this.#balance / this.#rate) * 1000, checkInterval)
      await sleep(milliseconds, undefined, { signal }).catch(() => {})
    }
    this.#balance -= bytes
  }

  #update(): void {
    const now = performance.now()
    const seconds = (now - this.#updatedAt) / 1000
    this.#updatedAt = now
    this.#balance = this.#rate === null ? 0 : Math.min(this.#balance + this.#rate * seconds, this.#rate * burst)
  }
}
