/**
 * Locks that clients put on entries, which all replicas share. They have the semantics of RFC 4918, section 6, and bind the requests of the
 * front ends that call `requireUnlocked`.
 */
import { randomUUID } from 'node:crypto'
import { isId } from '../../auth/id.ts'
import { authorize, needs } from '../../auth/needs.ts'
import { formatPath, isWithin, parentOf, root, type StoragePath } from '../../auth/path.ts'
import { recentlySeen, type Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import {
  batchedLocks,
  deleteExpiredLocks,
  deleteLock,
  type EntryLock,
  insertLock,
  listLocksWithin,
  refreshLock,
} from '../../db/entry-locks.ts'
import { AppError } from '../../errors.ts'
import type { LocationInput } from '../files/entry.ts'

export type { EntryLock } from '../../db/entry-locks.ts'

/** The maximum number of locks of one member. */
const maxLocks = 1000
/** The maximum number of shared locks that hold for one entry. PROPFIND repeats them for each entry of a folder. */
const maxShared = 16
/** Seconds. Clients refresh their locks, so those of a client that is gone end soon. */
const maxLockTime = 3600

export interface NewLock {
  isExclusive: boolean
  isDeep: boolean
  /** XML about the owner. */
  owner: string
  /** Seconds, which are reduced to `maxLockTime`. */
  timeout: number
}

/** The change that a request makes at a location, which decides about the locks that matter. */
export interface LockedChange {
  location: LocationInput
  /** The entry and everything below it goes away or is replaced. */
  isTree: boolean
  /** The entry is added to its folder or removed from it. */
  isMember: boolean
}

export function createEntryLocks({ db }: { db: Database }) {
  const locksAround = batchedLocks(db)

  /** Returns the locks that hold for a location: its own, and the deep ones of the folders around it. */
  async function covering(viewer: Viewer | null, location: LocationInput): Promise<EntryLock[]> {
    const [{ providerId, path }] = authorize(viewer, needs.read, location)
    const around = await locksAround(providerId, path)
    return around.filter(lock => lock.isDeep || lock.path === path)
  }

  /** @throws INVALID_INPUT if the token is of no lock that holds for the location; LOCKED if it is another member's */
  async function own(viewer: Viewer | null, location: LocationInput, token: string): Promise<EntryLock> {
    const [granted] = authorize(viewer, needs.delete, location)
    const lock = (await covering(viewer, location)).find(each => each.token === token)
    if (!lock) throw new AppError('INVALID_INPUT', 'The lock token is not that of a lock of this resource.')
    if (lock.userId !== granted.viewer.member.userId)
      throw new AppError('LOCKED', 'The lock is that of another person.')
    return lock
  }

  return {
    covering,

    /** Returns the locks at a location and below it. @throws as `Files.stat` */
    async within(viewer: Viewer | null, location: LocationInput): Promise<EntryLock[]> {
      const [{ providerId, path }] = authorize(viewer, needs.read, location)
      return listLocksWithin(db, providerId, path, maxLocks)
    },

    /**
     * Requires that no lock prevents a change, except those of the member whose tokens the client has sent.
     * @throws LOCKED, as `Files.stat`
     */
    async requireUnlocked(
      viewer: Viewer | null,
      { location, isTree, isMember }: LockedChange,
      tokens: ReadonlySet<string>,
    ): Promise<void> {
      const [{ providerId, path, viewer: present }] = authorize(viewer, needs.read, location)
      // Saves the query for almost all changes. Like that query, it decides before the change begins.
      if (recentlySeen(present, providerId)?.hasLocks === false) return
      const parent = path === root ? null : parentOf(path)
      const around = await locksAround(providerId, path)
      const holding = around.filter(lock => lock.isDeep || lock.path === path || (isMember && lock.path === parent))
      const below = isTree ? await listLocksWithin(db, providerId, path, maxLocks) : []
      const isHeldByClient = (lock: EntryLock) => lock.userId === present.member.userId && tokens.has(lock.token)
      // One of several shared locks is enough to write.
      const groups = Map.groupBy([...holding, ...below], lock => lock.path)
      for (const locks of groups.values()) {
        if (!locks.some(isHeldByClient)) throw lockedBy(locks[0]?.path ?? path, path)
      }
    },

    /** Creates a lock. @throws LOCKED, TOO_MANY_LOCKS, as `Files.delete` */
    async create(viewer: Viewer | null, location: LocationInput, lock: NewLock): Promise<EntryLock> {
      const [{ providerId, path, workspaceId, viewer: present }] = authorize(viewer, needs.delete, location)
      const { userId } = present.member
      const timeout = Math.min(lock.timeout, maxLockTime)
      const values = { ...lock, token: randomUUID(), providerId, path, workspaceId, userId, timeout }
      const stored = await insertLock(db, values, { member: maxLocks, shared: maxShared })
      if ('lock' in stored) return stored.lock
      if ('conflicts' in stored) throw lockedBy(stored.conflicts[0]?.path ?? path, path)
      if (stored.reached === 'shared') throw tooManyShared(path)
      throw new AppError('TOO_MANY_LOCKS', `You have ${maxLocks} locks already: release some of them, or wait.`)
    },

    /** @param timeout seconds @throws INVALID_INPUT, LOCKED, as `Files.delete` */
    async refresh(
      viewer: Viewer | null,
      location: LocationInput,
      { token, timeout }: { token: string; timeout: number },
    ): Promise<EntryLock> {
      await own(viewer, location, token)
      const refreshed = await refreshLock(db, token, Math.min(timeout, maxLockTime))
      if (!refreshed) throw new AppError('INVALID_INPUT', 'The lock has expired: lock the resource again.')
      return refreshed
    },

    /** @throws INVALID_INPUT, LOCKED, as `Files.delete` */
    async release(viewer: Viewer | null, location: LocationInput, token: string): Promise<void> {
      const lock = isId(token) ? await own(viewer, location, token) : null
      if (!lock) throw new AppError('INVALID_INPUT', 'The lock token is malformed.')
      await deleteLock(db, token)
    },

    sweep: () => deleteExpiredLocks(db),
  }
}

/** Names the locked entry only if it is below the one that the request names. */
function lockedBy(locked: StoragePath, path: StoragePath): AppError {
  const named = isWithin(locked, path) ? locked : path
  return new AppError('LOCKED', 'The resource is locked: try again when its lock is released or has expired.', {
    facts: { lockedPath: formatPath(named) },
  })
}

function tooManyShared(path: StoragePath): AppError {
  const message = `The entry has ${maxShared} shared locks, including those of the folders around it and of the entries below it: try again when one of them is released or has expired.`
  return new AppError('LOCKED', message, { facts: { lockedPath: formatPath(path) } })
}
