/**
 * Tracks the work that runs under each grant. A transfer can take hours, and its grant can be revoked meanwhile: the
 * work registered here is then canceled.
 */
import type { Grant } from '../auth/policy.ts'
import type { Viewer } from '../auth/viewer.ts'

/** Registered work, as the check of its grants sees it. */
export interface Work {
  readonly grants: readonly Grant[]
  /** The viewer of work without a location; null for work under grants. */
  readonly watched: WatchedViewer | null
  /** Aborts the signal of the work with `reason`. */
  cancel(reason: unknown): void
}

export interface WatchedViewer {
  readonly viewer: Viewer
  /** Called after each check of the credential. @throws the reason why the work has to end */
  confirmed(now: Viewer): void
}

/** Registered work, as its caller sees it. Dispose of it when the work ends. */
export interface ActiveWork extends Disposable {
  /** Aborts when the signal given to `register` aborts, or when the work is canceled. */
  readonly signal: AbortSignal
  cancel(reason: unknown): void
}

export interface ActiveGrantsOptions {
  /** Rejects if the grant no longer holds. */
  confirm(granted: Grant): Promise<void>
  /** Called when work begins while no other work is registered. */
  onFirst(): void
}

export class ActiveGrants implements Iterable<Work> {
  readonly #works = new Set<Work>()
  readonly #options: ActiveGrantsOptions

  /** The options are required: unchecked work would continue after its grant is revoked. */
  constructor(options: ActiveGrantsOptions) {
    this.#options = options
  }

  /**
   * Registers work until the result is disposed of. Prefer `run`, which always disposes of it.
   * @param signal the signal of the request
   */
  register(grants: readonly Grant[], signal: AbortSignal): ActiveWork {
    return this.#add({ grants, watched: null }, signal)
  }

  /** Registers work that depends on a credential and not on a location. Otherwise as `register`. */
  registerViewer(watched: WatchedViewer, signal: AbortSignal): ActiveWork {
    return this.#add({ grants: [], watched }, signal)
  }

  #add(needed: Omit<Work, 'cancel'>, signal: AbortSignal): ActiveWork {
    const controller = new AbortController()
    const follow = () => controller.abort(signal.reason)
    const cancel = (reason: unknown) => controller.abort(reason)
    const work: Work = { ...needed, cancel }
    if (signal.aborted) follow()
    else signal.addEventListener('abort', follow, { once: true })
    this.#works.add(work)
    if (this.#works.size === 1) this.#options.onFirst()
    return {
      signal: controller.signal,
      cancel,
      [Symbol.dispose]: () => {
        signal.removeEventListener('abort', follow)
        this.#works.delete(work)
      },
    }
  }

  /**
   * Runs `work` under a signal that aborts when `signal` does or when one of the grants ends. In the second case the reason
   * is an AppError for the client: KEY_REVOKED, KEY_EXPIRED, SESSION_ENDED, ACCOUNT_DEACTIVATED, INVALID_CREDENTIAL,
   * SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED or OUTSIDE_BASE_PATH. Methods of locations that move content register themselves. Use this for work
   * of several steps, such as an archive or a copy of a folder.
   */
  async run<T>(grants: readonly Grant[], signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    await this.confirm(grants)
    using active = this.register(grants, signal)
    return await work(active.signal)
  }

  /** Call this before a step that may run long after its grants were decided. @throws the reason why a grant has ended */
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
