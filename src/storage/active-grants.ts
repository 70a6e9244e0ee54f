/**
 * What is under way on the strength of grants. A grant is decided on when work begins, and a transfer can take hours:
 * all that moves content is entered here for as long as it lasts, so that it can be cut when a grant no longer holds.
 */
import type { Grant } from '../auth/policy.ts'

/** Work that is under way. */
export interface Work {
  readonly grants: readonly Grant[]
  /** Aborts its signal with `reason`. */
  cut(reason: unknown): void
}

/** The holder's side of it; disposed of once the work is over. */
export interface Entered extends Disposable {
  /** Aborts as the signal that it was entered with, or with why it was cut. */
  readonly signal: AbortSignal
  cut(reason: unknown): void
}

export interface RunningOptions {
  /** Rejects if the grant no longer holds. */
  confirm(granted: Grant): Promise<void>
  /** Called when work begins while no other work is under way. */
  onFirst(): void
}

export class Running implements Iterable<Work> {
  readonly #works = new Set<Work>()
  readonly #options: RunningOptions

  /** Required: work that nothing checks would go on after its grant was revoked. */
  constructor(options: RunningOptions) {
    this.#options = options
  }

  /**
   * To be disposed of when the work is over; rather use `during`.
   * @param signal that of the request
   */
  enter(grants: readonly Grant[], signal: AbortSignal): Entered {
    const controller = new AbortController()
    const follow = () => controller.abort(signal.reason)
    const cut = (reason: unknown) => controller.abort(reason)
    const work: Work = { grants, cut }
    if (signal.aborted) follow()
    else signal.addEventListener('abort', follow, { once: true })
    this.#works.add(work)
    if (this.#works.size === 1) this.#options.onFirst()
    return {
      signal: controller.signal,
      cut,
      [Symbol.dispose]: () => {
        signal.removeEventListener('abort', follow)
        this.#works.delete(work)
      },
    }
  }

  /**
   * Runs `work` under a signal that aborts as `signal` does, or as soon as one of the grants no longer holds: then with
   * the AppError to answer (KEY_REVOKED, KEY_EXPIRED, SESSION_ENDED, INVALID_CREDENTIAL, SCOPE_REQUIRED,
   * PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH). Each step that moves content in a location is entered by
   * itself; this is for what takes several of them, or waits between them, as an archive or a copy of a folder does.
   */
  async during<T>(
    grants: readonly Grant[],
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    await this.confirm(grants)
    using entered = this.enter(grants, signal)
    return await work(entered.signal)
  }

  /** To be called before a step that may come long after its grants were decided on. @throws why one no longer holds */
  async confirm(grants: readonly Grant[]): Promise<void> {
    for (const granted of grants) await this.#options.confirm(granted)
  }

  get size(): number {
    return this.#works.size
  }

  [Symbol.iterator](): Iterator<Work> {
    return this.#works.values()
  }
}
