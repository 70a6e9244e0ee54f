interface LeaseOptions {
  /** Milliseconds between two renewals. */
  interval: number
  /** Renews the lease. Resolves with false if it is lost. After a failure, the next renewal tries again. */
  renew(): Promise<unknown>
  /** Milliseconds without a renewal after which the lease counts as lost: fewer than it lasts. Default: no limit */
  timeout?: number
  /** When the statement that took the lease was sent, as of `performance.now()`. Default: now */
  takenAt?: number
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
  #renewing: Promise<void> | null = null

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#renewedAt = options.takenAt ?? performance.now()
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

  #tick(): void {
    const { timeout = Number.POSITIVE_INFINITY, onLost } = this.#options
    // Check this first, because a query to an unreachable database may hang.
    if (performance.now() - this.#renewedAt > timeout) onLost?.()
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = null
    })
  }

  async #renew(): Promise<void> {
    const sentAt = performance.now()
    try {
      if ((await this.#options.renew()) === false) this.#options.onLost?.()
      else this.renewed(sentAt)
    } catch (error) {
      this.#options.onError?.(error)
    }
  }
}
