/**
 * Finds the locks that prevent a change. Storage asks the guard before each change of a back end, whichever endpoint or job makes it, so
 * a lock binds everybody but the member who holds it. WebDAV asks earlier, and also requires that the member's client sends the token.
 */
import { isId } from '../../auth/id.ts'
import { formatPath, isWithin, parentOf, root, type StoragePath } from '../../auth/path.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { batchedLocks, type EntryLock, findLocksFlag, listLocksWithin } from '../../db/entry-locks.ts'
import { AppError } from '../../errors.ts'
import type { ChangeGuard, GuardedChange } from '../../storage/read-location.ts'
import type { RightsMemory } from '../people/rights-memory.ts'

/** The maximum number of locks of one member, and of the locks below a path that a change looks at. */
export const maxLocks = 1000

export type LockGuard = ReturnType<typeof createLockGuard>

export function createLockGuard({ db, memory }: { db: Database; memory: RightsMemory }) {
  const locksAround = batchedLocks(db)
  const flagOf = memory.remembering('locks', (providerId: string) => findLocksFlag(db, providerId))

  /** Returns whether anybody holds locks in a provider. After a lock was created, no process returns false. */
  async function hasLocks(providerId: string): Promise<boolean> {
    // A text from a client that names no provider.
    if (!isId(providerId)) return false
    return (await flagOf(providerId))?.hasLocks !== false
  }

  /** Returns the locks that hold for a path: its own, and the deep ones of the folders around it. */
  async function covering(providerId: string, path: StoragePath): Promise<EntryLock[]> {
    if (!(await hasLocks(providerId))) return []
    const around = await locksAround(providerId, path)
    return around.filter(lock => lock.isDeep || lock.path === path)
  }

  /**
   * Requires that each entry which a change concerns is unlocked, or that `isHeld` accepts one of its locks: one of several shared
   * locks is enough to write.
   * @throws LOCKED
   */
  async function require(
    providerId: string,
    { path, isTree, isMember }: GuardedChange,
    isHeld: (lock: EntryLock) => boolean,
  ): Promise<void> {
    if (!(await hasLocks(providerId))) return
    const parent = path === root ? null : parentOf(path)
    const around = await locksAround(providerId, path)
    const holding = around.filter(lock => lock.isDeep || lock.path === path || (isMember && lock.path === parent))
    const below = isTree ? await listLocksWithin(db, providerId, path, maxLocks) : []
    for (const locks of Map.groupBy([...holding, ...below], lock => lock.path).values()) {
      if (!locks.some(isHeld)) throw lockedBy(locks[0]?.path ?? path, path)
    }
  }

  const guardChange: ChangeGuard = ({ viewer, providerId }, change) =>
    require(providerId, change, lock => isHolder(viewer, lock))

  return { covering, require, guardChange }
}

/** Returns whether a lock is the viewer's. The recipients of a share link are not the member who shared. */
export function isHolder({ kind, member }: Viewer, lock: EntryLock): boolean {
  return kind !== 'SHARE' && lock.userId === member.userId
}

/** Names the locked entry only if it is below the one that the request names. */
export function lockedBy(locked: StoragePath, path: StoragePath): AppError {
  const named = isWithin(locked, path) ? locked : path
  return new AppError('LOCKED', 'The entry is locked: try again when its lock is released or has expired.', {
    facts: { lockedPath: formatPath(named) },
  })
}
