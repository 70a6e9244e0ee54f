/** The progress of a run beyond what its steps have committed. */
import type { Totals } from '../../db/jobs/leases.ts'

/** The weight of the latest measurement in the average rate. */
const smoothing = 0.3

export class RunProgress {
  /** Null until everything is counted. */
  totals: Totals | null = null
  /** The tallies of the steps that are running. */
  readonly tallies = new Set<Totals>()
  #bytes = 0
  #measuredAt = performance.now()
  #rate = 0

  /** Call this for every chunk that passes through this server, with its length in bytes. */
  readonly onBytes = (bytes: number): void => {
    this.#bytes += bytes
  }

  /** @param now as of `performance.now()` */
  measure(now: number): { bytesPerSecond: number; totals: Totals | null; pending: Totals } {
    const seconds = (now - this.#measuredAt) / 1000
    if (seconds > 0) {
      this.#rate += smoothing * (this.#bytes / seconds - this.#rate)
      this.#bytes = 0
      this.#measuredAt = now
    }
    const pending = { files: 0, bytes: 0 }
    for (const { files, bytes } of this.tallies) {
      pending.files += files
      pending.bytes += bytes
    }
    return { bytesPerSecond: this.#rate, totals: this.totals, pending }
  }
}
