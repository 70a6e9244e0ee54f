/**
 * Facts about entries that their back ends do not store: locks, holds, properties, stars and tags. Paths and a viewer enter. The
 * facts leave to people, and refusals of changes leave to storage.
 *
 * This file finds what prevents a change although the viewer has the rights for it: the lock of another member, and a hold.
 * Storage asks the guard before each change of a back end, whichever endpoint or job makes it, and learns how the provider keeps
 * versions.
 */
import { isId } from '../../auth/id.ts'
import { formatPath, isWithin, parentOf, root, type StoragePath } from '../../auth/path.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import {
  batchedHolds,
  type ChangeFlags,
  type EntryHold,
  findChangeFlags,
  findHoldWithin,
  type ObjectLockSettings,
  type VersionSettings,
} from '../../db/entry-holds.ts'
import { batchedLocks, type EntryLock, listLocksWithin } from '../../db/entry-locks.ts'
import { AppError } from '../../errors.ts'
import type { ChangeGuard, GuardedChange } from '../../storage/read-location.ts'
import type { RightsMemory } from '../people/rights-memory.ts'

/** The maximum number of locks of one member, and of the locks below a path that a change looks at. */
export const maxLocks = 1000
/** Milliseconds between two checks of the changes that are running. */
const watchInterval = 400

const noFlags = {
  hasLocks: false,
  hasHolds: false,
  versions: { versionCount: 0, versionDays: null },
  objectLock: null,
} as const satisfies Omit<ChangeFlags, 'version'>

type IsHeld = (lock: EntryLock) => boolean

export type EntryGuard = ReturnType<typeof createEntryGuard>

export function createEntryGuard(options: { db: Database; memory: RightsMemory; onError: (error: unknown) => void }) {
  const { db, memory, onError } = options
  const locksAround = batchedLocks(db)
  const holdsAround = batchedHolds(db)
  const remembered = memory.remembering('locks and holds', (providerId: string) => findChangeFlags(db, providerId))
  const running = new Set<() => Promise<void>>()
  let isWatching = false

  /** Once a lock or a hold was created, no process finds that its provider has none. */
  async function flagsOf(providerId: string): Promise<Omit<ChangeFlags, 'version'>> {
    // A text from a client may name no provider.
    const found = isId(providerId) ? await remembered(providerId) : null
    return found ?? noFlags
  }

  /** Returns the locks that hold for a path: its own, and the deep ones of the folders around it. */
  async function locksOf(providerId: string, path: StoragePath): Promise<EntryLock[]> {
    if (!(await flagsOf(providerId)).hasLocks) return []
    const around = await locksAround(providerId, path)
    return around.filter(lock => lock.isDeep || lock.path === path)
  }

  /** Returns the holds that prevent changes at a path. */
  async function holdsOf(providerId: string, path: StoragePath): Promise<EntryHold[]> {
    return (await flagsOf(providerId)).hasHolds ? holdsAround(providerId, path) : []
  }

  /**
   * Requires that each entry which a change concerns is unlocked, or that `isHeld` accepts one of its locks: one of several shared
   * locks is enough to write.
   * @throws LOCKED
   */
  async function requireUnlocked(providerId: string, change: GuardedChange, isHeld: IsHeld): Promise<void> {
    if ((await flagsOf(providerId)).hasLocks) await checkLocks(providerId, change, isHeld)
  }

  async function checkLocks(
    providerId: string,
    { path, isTree, isMember }: GuardedChange,
    isHeld: IsHeld,
  ): Promise<void> {
    const parent = path === root ? null : parentOf(path)
    const around = await locksAround(providerId, path)
    const holding = around.filter(lock => lock.isDeep || lock.path === path || (isMember && lock.path === parent))
    const below = isTree ? await listLocksWithin(db, providerId, path, maxLocks) : []
    for (const locks of Map.groupBy([...holding, ...below], lock => lock.path).values()) {
      if (!locks.some(isHeld)) throw lockedBy(locks[0]?.path ?? path, path)
    }
  }

  /** @throws ON_HOLD */
  async function checkHolds(
    providerId: string,
    { path, isTree, keepsContent }: GuardedChange,
    versions: VersionSettings,
  ): Promise<void> {
    // The lock of an object holds for its content, which stays if the change keeps it as a version.
    const ofObjects = !keepsContent?.(versions)
    const around = (await holdsAround(providerId, path)).find(({ objectLock }) => ofObjects || objectLock === null)
    const hold = around ?? (isTree ? await findHoldWithin(db, { providerId, path }, { ofObjects }) : null)
    if (hold) throw heldBy(hold, path)
  }

  const require: ChangeGuard['require'] = async ({ viewer, providerId }, change) => {
    const { hasHolds, hasLocks, versions } = await flagsOf(providerId)
    if (hasHolds) await checkHolds(providerId, change, versions)
    if (hasLocks) await checkLocks(providerId, change, lock => isHolder(viewer, lock))
    return versions
  }

  const versionSettings: ChangeGuard['versionSettings'] = async providerId => (await flagsOf(providerId)).versions

  async function checkRunning(): Promise<void> {
    await Promise.all(Array.from(running, check => check()))
    isWatching = running.size > 0
    if (isWatching) setTimeout(checkRunning, watchInterval).unref()
  }

  const watch: ChangeGuard['watch'] = (grant, change, cancel) => {
    const check = async () => {
      try {
        await require(grant, change)
      } catch (error) {
        if (error instanceof AppError) cancel(error)
        // A failed query prevents nothing: the next check is soon.
        else onError(error)
      }
    }
    running.add(check)
    if (!isWatching) setTimeout(checkRunning, watchInterval).unref()
    isWatching = true
    return { [Symbol.dispose]: () => void running.delete(check) }
  }

  /** Returns the settings of S3 Object Lock of a provider; null where it is off. */
  const objectLockSettings = async (providerId: string): Promise<ObjectLockSettings | null> =>
    (await flagsOf(providerId)).objectLock

  return {
    locksOf,
    holdsOf,
    objectLockSettings,
    requireUnlocked,
    changes: { require, versionSettings, watch } satisfies ChangeGuard,
  }
}

/** Returns whether a lock is the viewer's. The recipients of a share link are not the member who shared. */
export function isHolder({ kind, member }: Viewer, lock: EntryLock): boolean {
  return kind !== 'SHARE' && lock.userId === member.userId
}

export function lockedBy(locked: StoragePath, path: StoragePath): AppError {
  return new AppError('LOCKED', 'The entry is locked: try again when its lock is released or has expired.', {
    facts: { lockedPath: named(locked, path) },
  })
}

function heldBy({ path: held, until, objectLock }: EntryHold, path: StoragePath): AppError {
  const end = until ? `until ${until.toISOString()}` : 'until an owner of the workspace releases it'
  const message =
    objectLock === null
      ? `The entry is on hold ${end}: nobody changes, moves or deletes it before.`
      : `An S3 Object Lock keeps the content ${end}: work on a copy, or replace the object over S3, where this content stays as a version.`
  return new AppError('ON_HOLD', message, {
    facts: { heldPath: named(held, path), heldUntil: until?.toISOString() ?? null },
  })
}

/** Names the entry that prevents a change only if it is below the one that the request names. */
function named(preventing: StoragePath, path: StoragePath): string {
  return formatPath(isWithin(preventing, path) ? preventing : path)
}
