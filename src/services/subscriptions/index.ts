/**
 * The common parts of all subscriptions: a bounded queue of changes for each, limits for each member, and one connection that
 * listens to PostgreSQL.
 */
import { type SlotOwners, slotOwners, type Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { type ListenOptions, listen } from '../../db/listen.ts'
import { AppError } from '../../errors.ts'
import { Slots } from '../../lib/slots.ts'

/** One subscription: the latest value of each key that its client has not read yet. */
export abstract class Subscription<Value, Event> implements AsyncIterableIterator<Event> {
  readonly #onEnd: () => void
  readonly #unread = new Map<string, Value>()
  #failure: unknown
  #isEnded = false
  #expiry: NodeJS.Timeout | undefined
  #change = Promise.withResolvers<void>()

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  /** Returns the event of a value that the client reads now, or null to skip the value. An error ends the subscription. */
  protected abstract toEvent(value: Value): Event | null | Promise<Event | null>

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** The number of values that the client has not read. */
  protected get unread(): number {
    return this.#unread.size
  }

  protected hasUnread(key: string): boolean {
    return this.#unread.has(key)
  }

  /** Adds a value, or replaces the unread one of the same key. */
  protected add(key: string, value: Value): void {
    if (this.#isEnded) return
    this.#unread.set(key, value)
    this.#change.resolve()
  }

  protected clear(): void {
    this.#unread.clear()
  }

  /** Makes the subscription fail. */
  cancel(reason: unknown): void {
    if (this.#isEnded) return
    this.#failure = reason
    this.#end()
  }

  /** Makes the subscription fail with the reason of the signal when it aborts. */
  cancelWith(signal: AbortSignal): void {
    const onAbort = () => this.cancel(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  }

  /**
   * Makes the subscription fail when the access token of its viewer expires. The application subscribes again with the next token,
   * so that a token that somebody else has got gives nothing for longer than it is valid.
   */
  expireWith({ tokenExpiresAt }: Viewer): void {
    if (!tokenExpiresAt || this.#isEnded) return
    const onExpiry = () => this.cancel(new AppError('TOKEN_EXPIRED'))
    this.#expiry = setTimeout(onExpiry, Math.max(0, tokenExpiresAt.getTime() - Date.now())).unref()
  }

  async next(): Promise<IteratorResult<Event, undefined>> {
    for (;;) {
      const [first] = this.#unread
      if (first) {
        const [key, value] = first
        this.#unread.delete(key)
        const event = await this.#eventOf(value)
        if (event !== null && !this.#isEnded) return { done: false, value: event }
      } else if (this.#failure) throw this.#failure
      else if (this.#isEnded) return { done: true, value: undefined }
      else {
        this.#change = Promise.withResolvers()
        await this.#change.promise
      }
    }
  }

  async return(): Promise<IteratorResult<Event, undefined>> {
    this.#end()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #eventOf(value: Value): Promise<Event | null> {
    try {
      return await this.toEvent(value)
    } catch (error) {
      this.cancel(error)
      return null
    }
  }

  #end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    clearTimeout(this.#expiry)
    this.#unread.clear()
    this.#change.resolve()
    this.#onEnd()
  }
}

/** The maximum numbers of subscriptions to one field on one server. */
const limits = { credential: 20, links: 20, member: 100, all: 1000 }
/** The maximum number of values that a client has not read. */
export const maxUnread = 1000

/** The subscriptions to one field. */
export class OpenSubscriptions {
  readonly #slots = new Slots<keyof SlotOwners>(limits)

  /** Counts a subscription until the result is disposed of. @throws TOO_MANY_SUBSCRIPTIONS */
  add(viewer: Viewer): Disposable {
    return this.#slots.take(slotOwners(viewer), tooMany)
  }
}

function tooMany(level: keyof SlotOwners | 'all', limit: number): AppError {
  const owner = level === 'credential' ? 'This credential has' : 'You have'
  const message =
    level === 'all'
      ? 'The server has too many open subscriptions: try again later.'
      : `${owner} ${limit} open subscriptions, which is the limit: close one of them.`
  return new AppError('TOO_MANY_SUBSCRIPTIONS', message)
}

export function stopping(): AppError {
  return new AppError('UNAVAILABLE', 'The server is stopping: subscribe again.', { retryAfterMs: 1000 })
}

/** Milliseconds that the connection for notifications stays open after the last subscription. */
const idleTimeout = 10_000

/** Listens to a channel of the database while there are subscriptions. */
interface Listener {
  /** Call this for each new subscription. */
  start(): void
  /** Call this when the last subscription has ended. */
  stopLater(): void
  stop(): Promise<void>
}

/** @param options.onStopped called when listening has ended, because there are no subscriptions */
export function createListener(db: Database, options: ListenOptions & { onStopped(): void }): Listener {
  let stopListening: (() => Promise<void>) | undefined
  let idleTimer: NodeJS.Timeout | undefined

  async function stop(): Promise<void> {
    clearTimeout(idleTimer)
    options.onStopped()
    const stopped = stopListening?.()
    stopListening = undefined
    await stopped
  }

  return {
    start() {
      clearTimeout(idleTimer)
      stopListening ??= listen(db, options)
    },
    stopLater() {
      idleTimer = setTimeout(() => void stop().catch(options.onError), idleTimeout).unref()
    },
    stop,
  }
}
