/** Keeps one run of a job within its share of the limits of its providers. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../db/client.ts'
import { findSharedLimits } from '../../db/jobs/leases.ts'
import { Limiter } from '../../lib/limiter.ts'
import type { ReadLocation } from '../../storage/read-location.ts'

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
