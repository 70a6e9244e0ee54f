/** Keeps one run of a job within its share of the limits of its providers. */
import type { Database } from '../../db/client.ts'
import { findSharedLimits } from '../../db/jobs/shares.ts'
import { Limiter } from './limiter.ts'
import { Throttle } from './throttle.ts'

export class ProviderLimits {
  readonly #files: ReadonlyMap<string, Limiter>
  readonly #bytes: ReadonlyMap<string, Throttle>

  constructor(providerIds: Iterable<string>) {
    const ids = [...new Set(providerIds)]
    this.#files = new Map(ids.map(id => [id, new Limiter(1)]))
    this.#bytes = new Map(ids.map(id => [id, new Throttle()]))
  }

  /** Reads the limits, which may have changed, as may the number of jobs that share them. */
  async refresh(db: Database): Promise<void> {
    const found = await findSharedLimits(db, [...this.#files.keys()])
    for (const [id, { filesAtOnce, bytesPerSecond, jobs }] of found) {
      const share = Math.max(1, jobs)
      const [files, bytes] = [this.#files.get(id), this.#bytes.get(id)]
      if (files) files.limit = Math.max(1, Math.floor(filesAtOnce / share))
      if (bytes) bytes.rate = bytesPerSecond === null ? null : bytesPerSecond / share
    }
  }

  /** Works on one file of these providers: the source before the target, so that no two works wait for each other. */
  run<T>(providerIds: readonly string[], work: () => Promise<T>): Promise<T> {
    const [first, ...others] = new Set(providerIds)
    if (first === undefined) return work()
    const next = () => this.run(others, work)
    return this.#files.get(first)?.run(next) ?? next()
  }

  /** Resolves once the bytes may pass from one provider to the other. Returns undefined if they may pass at once. */
  pass(providerIds: readonly string[], bytes: number, signal: AbortSignal): Promise<unknown> | undefined {
    const waits = [...new Set(providerIds)].flatMap(id => this.#bytes.get(id)?.pass(bytes, signal) ?? [])
    return waits.length === 0 ? undefined : Promise.all(waits)
  }
}
