/** Keeps one run of a job within its share of the limits of its providers. */
import type { Database } from '../../db/client.ts'
import { findSharedLimits } from '../../db/jobs/shares.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import { Limiter } from './limiter.ts'
import { Throttle } from './throttle.ts'

export class ProviderLimits {
  readonly #files: ReadonlyMap<string, Limiter>
  /** The maximum number of transfers that each back end allows at once. */
  readonly #transfers = new Map<string, number>()
  readonly #bytes: ReadonlyMap<string, Throttle>

  constructor(providerIds: Iterable<string>) {
    const ids = [...new Set(providerIds)]
    this.#files = new Map(ids.map(id => [id, new Limiter(1)]))
    this.#bytes = new Map(ids.map(id => [id, new Throttle()]))
  }

  /** Keeps the job below the limit of a back end, so that its files do not wait until their time is up. */
  bound({ providerId, traits }: ReadLocation): void {
    const { maxReads = Number.POSITIVE_INFINITY, maxWrites = Number.POSITIVE_INFINITY } = traits
    this.#transfers.set(providerId, Math.min(maxReads, maxWrites))
    const files = this.#files.get(providerId)
    if (files) files.limit = Math.min(files.limit, maxReads, maxWrites)
  }

  /** Reads the limits, which may have changed, as may the number of jobs that share them. */
  async refresh(db: Database): Promise<void> {
    const found = await findSharedLimits(db, [...this.#files.keys()])
    for (const [id, { filesAtOnce, bytesPerSecond, jobs }] of found) {
      const share = Math.max(1, jobs)
      const [files, bytes] = [this.#files.get(id), this.#bytes.get(id)]
      const atOnce = Math.min(filesAtOnce, this.#transfers.get(id) ?? filesAtOnce)
      if (files) files.limit = Math.max(1, Math.floor(atOnce / share))
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
