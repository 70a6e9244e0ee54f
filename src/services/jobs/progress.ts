/** The progress of a run beyond what its steps have committed. */
import type { Totals } from '../../db/jobs/leases.ts'

/** The weight of the latest measurement in the average rate. */
const smoothing = 0.3

export class RunProgress {
  /** Null until everything is counted. */
  totals: Totals | null = null
  #bytes = 0
  #measuredAt = performance.now()
  #rate = 0

  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** @param now as of `performance.now()` */
  measure(now: number): { bytesPerSecond: number; totals: Totals | null } {
    const seconds = (now - this.#measuredAt) / 1000
    if (seconds > 0) {
      this.#rate += smoothing * (this.#bytes / seconds - this.#rate)
      this.#bytes = 0
      this.#measuredAt = now
    }
    return { bytesPerSecond: this.#rate, totals: this.totals }
  }
}
