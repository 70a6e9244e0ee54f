/** Locks by name, across all replicas, for adapters whose back end has no atomic create. */
import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { orAborted, StorageError } from '../../adapters/contract.ts'
import type { Database } from '../db/client.ts'
import { deleteEndedLocks, releaseLocks, renewalInterval, renewLocks, takeLocks } from '../db/locks.ts'
import { batched } from '../db/lookups.ts'
import { AppError, toAppError } from '../errors.ts'
import { LeaseKeeper } from '../lib/lease-keeper.ts'
import { startDeadline } from '../lib/timeout.ts'

/** Milliseconds between attempts to take a lock that another replica holds. */
const pollInterval = 100
/** Milliseconds that a caller waits for a lock, unless it says otherwise. */
const usualTimeout = 60_000
/** Milliseconds without a renewal after which a lock counts as lost: fewer than its lease. */
const lossTimeout = 25_000

/** A lock as the work of its caller sees it. */
export interface HeldLock {
  /** Aborts when another replica may have the lock. */
  readonly lost: AbortSignal
  /** @throws UNAVAILABLE if another replica may have the lock, also when this server was paused until now */
  require(): void
}

export interface Locks {
  /**
   * Runs `work` while no other call with the same name runs, on this replica or another.
   * @param options.timeout milliseconds to wait for the lock. Default: a minute
   */
  exclusively<T>(
    name: string,
    options: { signal?: AbortSignal; timeout?: number },
    work: (lock: HeldLock) => Promise<T>,
  ): Promise<T>
}

/** @param now milliseconds of a clock that also runs while the process is paused */
export function createLocks(db: Database, now = () => performance.now()): Locks {
  const holder = randomUUID()
  /** The end of each key's queue in this process. Only the first caller in a queue asks the database for the lock. */
  const queues = new Map<string, Promise<void>>()
  const held = new Set<{ check(): void }>()
  let keeper: LeaseKeeper | null = null
  /** When the last successful renewal of all locks was sent. */
  let renewedAt = Number.NEGATIVE_INFINITY
  let cleaned = false

  const take = batched(async (keys: readonly string[]) => {
    const taken = await takeLocks(db, keys.map(bytes), holder)
    return new Map(keys.map(key => [key, taken.has(key)]))
  })
  const release = batched(async (keys: readonly string[]) => {
    // If this fails, the lock expires.
    await releaseLocks(db, keys.map(bytes), holder).catch(() => {})
    return new Map<string, true>()
  })

  /** Returns when the statement that took the lock was sent. */
  async function takeFromOthers(key: string, signal: AbortSignal): Promise<number> {
    for (;;) {
      const sentAt = now()
      if (await take(key)) return sentAt
      await sleep(pollInterval, undefined, { signal })
    }
  }

  async function renew(): Promise<void> {
    const sentAt = now()
    await renewLocks(db, holder)
    renewedAt = sentAt
  }

  function hold(takenAt: number): HeldLock & { check(): void } {
    const controller = new AbortController()
    const check = () => {
      // Once lost, it may have been another replica's, even if it is renewed later.
      if (now() - Math.max(takenAt, renewedAt) > lossTimeout) controller.abort(lockLost())
    }
    return {
      lost: controller.signal,
      check,
      require() {
        check()
        controller.signal.throwIfAborted()
      },
    }
  }

  function begin(key: string, end: Promise<void>): Promise<void> {
    const before = queues.get(key) ?? Promise.resolve()
    const last = before.then(() => end)
    queues.set(key, last)
    const onLost = () => {
      for (const lock of held) lock.check()
    }
    keeper ??= new LeaseKeeper({ interval: renewalInterval, timeout: lossTimeout, renew, onLost })
    last.then(() => {
      if (queues.get(key) === last) queues.delete(key)
      if (queues.size > 0) return
      keeper?.[Symbol.dispose]()
      keeper = null
    })
    return before
  }

  return {
    async exclusively(name, { signal, timeout = usualTimeout }, work) {
      const key = createHash('sha256').update(name).digest('hex')
      const { promise: end, resolve: leave } = Promise.withResolvers<void>()
      let isTaken = false
      const takeTurn = async (waiting: AbortSignal) => {
        await orAborted(begin(key, end), waiting)
        if (!cleaned) await deleteEndedLocks(db)
        cleaned = true
        isTaken = true
        return hold(await takeFromOthers(key, waiting))
      }
      let lock: ReturnType<typeof hold> | null = null
      try {
        lock = await withDeadline(takeTurn, timeout, signal)
        held.add(lock)
        return await work(lock)
      } finally {
        if (lock) held.delete(lock)
        // Only the next caller in the queue waits for the release, not this one.
        if (isTaken) void release(key).then(() => leave())
        else leave()
      }
    },
  }
}

/** Waits for a turn. @throws the signal's reason; UNAVAILABLE after the timeout */
async function withDeadline<T>(
  wait: (signal: AbortSignal) => Promise<T>,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  using waiting = startDeadline(timeout, () => new Error('The lock was not free in time.'), signal)
  try {
    return await wait(waiting.signal)
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    if (waiting.signal.aborted) throw busy(error)
    throw toAppError(error)
  }
}

const bytes = (key: string) => Buffer.from(key, 'hex')

function busy(cause: unknown): StorageError {
  return new StorageError('UNAVAILABLE', 'Another write to this path is under way: try again later.', { cause })
}

function lockLost(): AppError {
  return new AppError('UNAVAILABLE', 'This server was paused or had no database for too long: try again.')
}
