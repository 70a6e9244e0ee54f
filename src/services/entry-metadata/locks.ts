/**
 * Locks that clients put on entries, which all replicas share. They have the semantics of RFC 4918, section 6. `change-guard.ts` makes them
 * bind every change.
 */
import { randomUUID } from 'node:crypto'
import { isId } from '../../auth/id.ts'
import { type Asked, authorize, needs } from '../../auth/needs.ts'
import { formatPath, type StoragePath } from '../../auth/path.ts'
import { isUnrestricted } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import {
  deleteExpiredLocks,
  deleteLock,
  type EntryLock,
  insertLock,
  listLocksWithin,
  refreshLock,
} from '../../db/entry-locks.ts'
import { AppError } from '../../errors.ts'
import type { GuardedChange } from '../../storage/read-location.ts'
import type { Audit } from '../audit/index.ts'
import { type AskedToRead, type LocationInput, locationOf } from '../files/entry.ts'
import { type EntryGuard, isHolder, lockedBy, maxLocks } from './change-guard.ts'

export type { EntryLock } from '../../db/entry-locks.ts'

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

/** The change that a request makes at a location. */
export interface LockedChange extends Omit<GuardedChange, 'path'> {
  location: LocationInput
}

export function createEntryLocks({ db, audit, guard }: { db: Database; audit: Audit; guard: EntryGuard }) {
  /** Returns the locks that hold for a location: its own, and the deep ones of the folders around it. */
  async function covering(viewer: Viewer | null, location: AskedToRead): Promise<EntryLock[]> {
    const [{ providerId, path }] = authorize(viewer, needs.read, location)
    return guard.locksOf(providerId, path)
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
      const isHeldByClient = (lock: EntryLock) => lock.userId === present.member.userId && tokens.has(lock.token)
      await guard.requireUnlocked(providerId, { path, isTree, isMember }, isHeldByClient)
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

    /**
     * Ends a lock that holds for a location: as its holder, or as an administrator without restrictions.
     * @throws NOT_FOUND, SCOPE_REQUIRED, as `Files.delete`
     */
    async end(viewer: Viewer | null, location: Asked<typeof needs.delete>, token: string): Promise<void> {
      await audit.recorded(viewer, 'LOCK_END', { location: locationOf(location) }, async recording => {
        const [{ providerId, path, viewer: present }] = authorize(viewer, needs.delete, location)
        const lock = (await guard.locksOf(providerId, path)).find(each => each.token === token)
        if (!lock) throw new AppError('NOT_FOUND', 'The lock has ended.')
        if (!isHolder(present, lock) && !isUnrestricted(present)) {
          const message = 'Only the person who holds a lock ends it, or an administrator with access to all providers.'
          throw new AppError('SCOPE_REQUIRED', message, { facts: { requiredScope: 'admin' } })
        }
        recording.add({ details: { holder: lock.userId, lockedPath: formatPath(lock.path) } })
        await recording.commit(change => deleteLock(change, token))
      })
    },

    sweep: () => deleteExpiredLocks(db),
  }
}

function tooManyShared(path: StoragePath): AppError {
  const message = `The entry has ${maxShared} shared locks, including those of the folders around it and of the entries below it: try again when one of them is released or has expired.`
  return new AppError('LOCKED', message, { facts: { lockedPath: formatPath(path) } })
}
