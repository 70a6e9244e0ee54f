/** Keeps the catalogue's reading of a back end slow enough for people and for the limits of the provider. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProviderRecord } from '../../db/providers.ts'
import { type RetrySchedule, retryDelay } from '../../lib/retry.ts'
import type { Storage } from '../../storage/index.ts'
import { Throttle } from '../jobs/limits.ts'

/** The part of the files at once of jobs that the catalogue takes as listings at once. */
const share = 4
const maxListings = 8
/** Bytes that one entry of a listing counts against the limit of the bytes per second. */
const entryBytes = 500
/** Milliseconds without a request after which a provider counts as idle. */
const quiet = 250
/** Milliseconds that a listing waits for requests, again and again, before it goes on beside them. */
const yieldTime = 250
const maxYields = 4
/** Seconds before each retry after a failure of the back end. */
const retries: RetrySchedule = { delays: [5, 10, 20, 40, 80, 160, 320, 640, 900], isEndless: true }

/** Returns the seconds until a back end is tried again. @param earlier the number of failures before the present one */
export function secondsToRetry(earlier: number): number {
  return retryDelay(retries, earlier + 1) ?? 0
}

export class Pace {
  readonly #storage: Pick<Storage, 'idleTime'>
  readonly #throttle = new Throttle()
  #record: ProviderRecord

  constructor(storage: Pick<Storage, 'idleTime'>, record: ProviderRecord) {
    this.#storage = storage
    this.#record = record
    this.limits = record
  }

  set limits(record: ProviderRecord) {
    this.#record = record
    this.#throttle.rate = record.jobLimits.bytesPerSecond
  }

  get listingsAtOnce(): number {
    return Math.min(maxListings, Math.max(1, Math.floor(this.#record.jobLimits.filesAtOnce / share)))
  }

  /** Whether neither limits nor requests of people hold the next listings back. */
  get isFree(): boolean {
    return this.#record.jobLimits.bytesPerSecond === null && this.#storage.idleTime(this.#record.id) >= quiet
  }

  /** Waits for requests of people and for the limits. Call it before each step, with the entries of the step before. */
  async wait(entries: number, signal: AbortSignal): Promise<void> {
    await this.waitForBytes(entries * entryBytes, signal)
  }

  /** The same for content. */
  async waitForBytes(bytes: number, signal: AbortSignal): Promise<void> {
    await this.#throttle.pass(bytes, signal)
    for (let count = 0; count < maxYields && this.#storage.idleTime(this.#record.id) < quiet; count++) {
      await sleep(yieldTime, undefined, { signal }).catch(() => {})
      signal.throwIfAborted()
    }
  }
}
