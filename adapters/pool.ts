/** The pool of connections behind `Host.pool`: bounded, in order, with retries of the connection itself. */
import { Capacity } from './bases/limits.ts'
import { delayBefore, pause } from './bases/retry.ts'
import { type Call, type Lease, orAborted, type Pool, type PoolOptions, StorageError } from './contract.ts'

/** Milliseconds after which an idle connection is checked before its next use. */
const checkAfter = 10_000
/** Milliseconds. */
const defaultIdleTime = 60_000
/** Milliseconds for opening a connection. */
const openTime = 30_000
/** Milliseconds: see `createPool`. */
const retryTime = 5_000
/** Milliseconds between attempts. */
const delays = { first: 100, longest: retryTime }

interface Slot<Connection> {
  /** Undefined until it is open. */
  connection: Connection | undefined
  /** Settles when it is open, or has failed. */
  opened: Promise<Connection>
  users: number
  idleSince: number
  timer?: NodeJS.Timeout
}

/** @param retry milliseconds for which a back end that refuses connections is tried again */
export function createPool<Connection>(options: PoolOptions<Connection>, retry = retryTime): Pool<Connection> {
  return new ConnectionPool(options, retry)
}

class ConnectionPool<Connection> implements Pool<Connection> {
  readonly #options: Required<Omit<PoolOptions<Connection>, 'check'>> & Pick<PoolOptions<Connection>, 'check'>
  readonly #retry: number
  readonly #slots = new Set<Slot<Connection>>()
  /** The users that fit. Every user that gets a slot finds a connection or room for a new one. */
  readonly #users: Capacity
  readonly #closed = new AbortController()

  constructor(options: PoolOptions<Connection>, retry: number) {
    this.#options = { maxUsers: 1, idleTime: defaultIdleTime, toError: error => error, ...options }
    this.#retry = retry
    this.#users = new Capacity(this.#options.max * this.#options.maxUsers)
  }

  async use<T>({ signal }: Call, work: (connection: Connection) => Promise<T>): Promise<T> {
    const lease = await this.take({ signal })
    const isShared = this.#options.maxUsers > 1
    const onAbort = () => (isShared ? lease.release() : lease.discard())
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await orAborted(work(lease.connection), signal)
    } catch (error) {
      throw signal.aborted ? signal.reason : this.#options.toError(error)
    } finally {
      signal.removeEventListener('abort', onAbort)
      lease.release()
    }
  }

  async take({ signal }: Call): Promise<Lease<Connection>> {
    signal.throwIfAborted()
    this.#closed.signal.throwIfAborted()
    if (!this.#users.tryTake(1)) await this.#users.take(1, AbortSignal.any([signal, this.#closed.signal]))
    try {
      const { slot, connection } = await this.#slot(signal)
      let isHeld = true
      const end = (isUsable: boolean) => {
        if (!isHeld) return
        isHeld = false
        slot.users -= 1
        if (isUsable) this.#rest(slot)
        else this.#drop(slot)
        this.#users.give(1)
      }
      return { connection, release: () => end(true), discard: () => end(false) }
    } catch (error) {
      this.#users.give(1)
      throw error
    }
  }

  close(): void {
    this.#closed.abort(new StorageError('UNAVAILABLE', 'The storage was closed: try again.'))
    for (const slot of this.#slots) this.#drop(slot)
  }

  async #slot(signal: AbortSignal): Promise<{ slot: Slot<Connection>; connection: Connection }> {
    const end = performance.now() + this.#retry
    for (let retry = 0; ; retry += 1) {
      const delay = delayBefore(retry, delays)
      const slot = this.#choose()
      clearTimeout(slot.timer)
      slot.users += 1
      try {
        const connection = await orAborted(slot.opened, signal)
        if (await this.#isUsable(slot, connection, signal)) return { slot, connection }
      } catch (error) {
        slot.users -= 1
        this.#rest(slot)
        signal.throwIfAborted()
        if (!isTemporary(error) || performance.now() + delay > end) throw error
        await pause(delay, signal)
      }
    }
  }

  /** Returns the connection with the fewest users, or a new one where that is allowed and each has several users. */
  #choose(): Slot<Connection> {
    const { max, maxUsers, isOpen } = this.#options
    for (const slot of this.#slots) if (slot.connection !== undefined && !isOpen(slot.connection)) this.#drop(slot)
    const [best] = [...this.#slots].filter(({ users }) => users < maxUsers).sort((a, b) => a.users - b.users)
    return best && (best.users < maxUsers / 4 || this.#slots.size >= max) ? best : this.#open()
  }

  #open(): Slot<Connection> {
    const signal = AbortSignal.any([AbortSignal.timeout(openTime), this.#closed.signal])
    const opened = this.#opened(signal)
    const slot: Slot<Connection> = { connection: undefined, opened, users: 0, idleSince: Number.POSITIVE_INFINITY }
    this.#slots.add(slot)
    opened.then(
      connection => {
        slot.connection = connection
        if (signal.aborted) this.#drop(slot)
        else this.#rest(slot)
      },
      () => this.#slots.delete(slot),
    )
    return slot
  }

  async #opened(signal: AbortSignal): Promise<Connection> {
    try {
      return await this.#options.open({ signal })
    } catch (error) {
      throw this.#options.toError(signal.aborted ? signal.reason : error)
    }
  }

  /** Checks a connection that was idle for long. Drops one that no longer works. */
  async #isUsable(slot: Slot<Connection>, connection: Connection, signal: AbortSignal): Promise<boolean> {
    const { check } = this.#options
    if (!check || slot.users > 1 || performance.now() - slot.idleSince < checkAfter) return true
    try {
      await orAborted(check(connection, { signal }), signal)
      return true
    } catch {
      signal.throwIfAborted()
      slot.users -= 1
      this.#drop(slot)
      return false
    }
  }

  /** Keeps a connection that has no user, for a while. */
  #rest(slot: Slot<Connection>): void {
    const { connection } = slot
    if (connection === undefined || slot.users > 0 || !this.#slots.has(slot)) return
    if (!this.#options.isOpen(connection)) return void this.#drop(slot)
    slot.idleSince = performance.now()
    slot.timer = setTimeout(() => this.#drop(slot), this.#options.idleTime).unref()
  }

  #drop(slot: Slot<Connection>): void {
    clearTimeout(slot.timer)
    if (this.#slots.delete(slot) && slot.connection !== undefined) this.#options.close(slot.connection)
  }
}

/** Errors after which another attempt may succeed. A closed address stays closed. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  const { cause } = error
  if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_CLOSED_ADDRESS') return false
  return error.code === 'UNAVAILABLE' || error.code === 'RATE_LIMITED'
}
