/** Locks by name, across all replicas, for adapters whose back end has no atomic create. */
import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Exclusive, orAborted, StorageError } from '../../adapters/contract.ts'
import type { Database } from '../db/client.ts'
import { deleteEndedLocks, releaseLocks, renewalInterval, renewLocks, takeLocks } from '../db/locks.ts'
import { batched } from '../db/lookups.ts'
import { toAppError } from '../errors.ts'
import { LeaseKeeper } from '../lib/lease-keeper.ts'
import { startDeadline } from '../lib/timeout.ts'

/** Milliseconds between attempts to take a lock that another replica holds. */
const pollInterval = 100
/** Milliseconds that a caller waits for a lock. */
const timeout = 60_000

export interface Locks {
  exclusively: Exclusive
}

export function createLocks(db: Database): Locks {
  const holder = randomUUID()
  /** The end of each key's queue in this process. Only the first caller in a queue asks the database for the lock. */
  const queues = new Map<string, Promise<void>>()
  let keeper: LeaseKeeper | null = null
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

  async function takeFromOthers(key: string, signal: AbortSignal): Promise<void> {
    while (!(await take(key))) await sleep(pollInterval, undefined, { signal })
  }

  function begin(key: string, end: Promise<void>): Promise<void> {
    const before = queues.get(key) ?? Promise.resolve()
    const last = before.then(() => end)
    queues.set(key, last)
    keeper ??= new LeaseKeeper({ interval: renewalInterval, renew: () => renewLocks(db, holder) })
    last.then(() => {
      if (queues.get(key) === last) queues.delete(key)
      if (queues.size > 0) return
      keeper?.[Symbol.dispose]()
      keeper = null
    })
    return before
  }

  return {
    async exclusively(name, { signal }, work) {
      const key = createHash('sha256').update(name).digest('hex')
      const { promise: end, resolve: leave } = Promise.withResolvers<void>()
      let isTaken = false
      const takeTurn = async (waiting: AbortSignal) => {
        await orAborted(begin(key, end), waiting)
        if (!cleaned) await deleteEndedLocks(db)
        cleaned = true
        isTaken = true
        await takeFromOthers(key, waiting)
      }
      try {
        await withDeadline(takeTurn, signal)
        return await work()
      } finally {
        // Only the next caller in the queue waits for the release, not this one.
        if (isTaken) void release(key).then(() => leave())
        else leave()
      }
    },
  }
}

/** Waits for a turn. @throws the signal's reason; UNAVAILABLE after the timeout */
async function withDeadline(
  wait: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  using waiting = startDeadline(timeout, () => new Error('The lock was not free in time.'), signal)
  try {
    await wait(waiting.signal)
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
