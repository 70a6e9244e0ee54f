/** The progress of a run beyond what its steps have committed. */
import type { Totals } from '../../db/jobs/leases.ts'
import type { JobProgress } from '../../db/jobs/record.ts'

/** The weight of the latest measurement in the average rate. */
const smoothing = 0.3

export class RunProgress {
  #totals: Totals | null
  /** The tallies of the steps that are running. */
  readonly tallies = new Set<Totals>()
  #bytes = 0
  #measuredAt = performance.now()
  #rate = 0
  #isCountable = true
  /** Something has failed, in this run or in an earlier one. */
  hasFailed: boolean

  /** @param known the progress of earlier runs */
  constructor({ totalFiles, totalBytes, failed }: Pick<JobProgress, 'totalFiles' | 'totalBytes' | 'failed'>) {
    this.hasFailed = failed > 0
    this.#totals = totalFiles === null ? null : { files: totalFiles, bytes: totalBytes ?? 0 }
  }

  /** Null until everything is counted. */
  get totals(): Totals | null {
    return this.#isCountable ? this.#totals : null
  }

  set totals(totals: Totals) {
    this.#totals = totals
  }

  /** Call this if work has an unknown number of files, so that totals would say nothing. */
  forgetTotals(): void {
    this.#isCountable = false
  }

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
