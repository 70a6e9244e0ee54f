interface LeaseOptions {
  /** Milliseconds between two renewals. */
  interval: number
  /** Renews the lease. Resolves with false if it is lost. After a failure, the next renewal tries again. */
  renew(): Promise<unknown>
  /** Milliseconds without a renewal after which the lease counts as lost: fewer than it lasts. Default: no limit */
  timeout?: number
  /**
   * Whether a renewal resolves with false if another holder has had the lease since. It then decides about a lease that was not renewed because
   * this process was paused. Default: such a lease is lost
   */
  isExact?: boolean
  /** When the statement that took the lease was sent, as of `performance.now()`. Default: now */
  takenAt?: number
  /** Milliseconds of a clock that also runs while the process is paused. */
  now?: () => number
  /** Called, perhaps several times, when another server may have the lease. */
  onLost?(): void
  onError?(error: unknown): void
}

/** Renews a lease in the database until it is disposed of. */
export class LeaseKeeper implements Disposable {
  readonly #options: LeaseOptions
  readonly #timer: NodeJS.Timeout
  /** When the last successful renewal was sent. The lease runs from then. */
  #renewedAt: number
  #tickedAt: number
  /** The lease may be lost, and the renewal that says so has been sent after a pause of this process. */
  #isInDoubt = false
  #renewing: Promise<void> | null = null

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#tickedAt = this.#now()
    this.#renewedAt = options.takenAt ?? this.#tickedAt
    this.#timer = setInterval(() => this.#tick(), options.interval).unref()
  }

  /** Call this if another statement has renewed the lease. @param sentAt as of `performance.now()` */
  renewed(sentAt: number): void {
    this.#renewedAt = Math.max(this.#renewedAt, sentAt)
  }

  /** Renews the lease once more, and no longer. */
  async end(): Promise<void> {
    this[Symbol.dispose]()
    await this.#renewing
    await this.#renew()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #now(): number {
    return (this.#options.now ?? performance.now.bind(performance))()
  }

  #tick(): void {
    const { interval, isExact = false, timeout = Number.POSITIVE_INFINITY, onLost } = this.#options
    const now = this.#now()
    const wasPaused = now - this.#tickedAt > 2 * interval
    this.#tickedAt = now
    const isLate = now - this.#renewedAt > timeout
    // Until the next tick, the renewal decides.
    const isInDoubt = isLate && isExact && wasPaused && !this.#isInDoubt
    // Check this first, because a query to an unreachable database may hang.
    if (isLate && !isInDoubt) onLost?.()
    this.#isInDoubt = isInDoubt
    // The time of a renewal from before the pause says nothing about the pause.
    if (isInDoubt || !this.#renewing) this.#startRenewal()
  }

  #startRenewal(): void {
    const before = this.#renewing ?? Promise.resolve()
    const renewing: Promise<void> = before
      .then(() => this.#renew())
      .finally(() => {
        if (this.#renewing === renewing) this.#renewing = null
      })
    this.#renewing = renewing
  }

  async #renew(): Promise<void> {
    const sentAt = this.#now()
    try {
      if ((await this.#options.renew()) === false) this.#options.onLost?.()
      else this.renewed(sentAt)
    } catch (error) {
      this.#options.onError?.(error)
    }
  }
}
