/**
 * S3 Object Lock. A retention and a legal hold are holds of the content of one object: through S3, the object may be replaced and deleted,
 * and the content stays as a version, which nobody deletes. Everything else is refused as for other holds.
 */
import { isId, noSuchVersion } from '../../auth/id.ts'
import { authorize, needs } from '../../auth/needs.ts'
import type { Grant } from '../../auth/policy.ts'
import { grantBases, requireOwner } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Change } from '../../db/client.ts'
import type { EntryHold, ObjectLockSettings } from '../../db/entry-holds.ts'
import { findVersion, findVersionOf } from '../../db/file-versions.ts'
import {
  deleteEndedObjectLocks,
  findObjectLocks,
  type LockedObject,
  lockVersion,
  setObjectLock,
  setObjectLockSettings,
} from '../../db/object-locks.ts'
import { lockProvider, shareProvider } from '../../db/providers.ts'
import type { ObjectLockKind, RetentionMode } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull } from '../files/conflict.ts'
import { type FileEntry, type LocationInput, locationOf } from '../files/entry.ts'
import { nativeIdOf } from '../versions/native.ts'
import type { EntryGuard } from './change-guard.ts'
import { parseHoldEnd } from './holds.ts'
import { beginLocks, type LockIntentContext, startLockCollector } from './lock-intents.ts'

export type { ObjectLockSettings } from '../../db/entry-holds.ts'
export type { RetentionMode } from '../../db/schema.ts'

export interface Retention {
  mode: RetentionMode
  until: Date
}

/** The locks of an object. */
export interface ObjectLock {
  retention: Retention | null
  /** Whether it has a legal hold, which has no end. */
  isHeld: boolean
}

/** A new object. */
export type StoredObject = FileEntry & {
  /** Whether its bucket has Object Lock, so that clients expect the id of its version. */
  isVersioned: boolean
}

export interface ObjectInput extends LocationInput {
  /** The id of an earlier version; undefined for the object as it is now. */
  version?: string | undefined
}

export const maxRetentionDays = 36_500
const day = 24 * 60 * 60 * 1000
const retentionModes: readonly RetentionMode[] = ['COMPLIANCE', 'GOVERNANCE']
const unlocked = { retention: null, isHeld: false, isVersioned: false }
const allKinds: readonly ObjectLockKind[] = [...retentionModes, 'LEGAL_HOLD']
/** Milliseconds to give an object its retention again. */
const undoTimeout = 30_000

export type ObjectLocks = ReturnType<typeof createObjectLocks>

export function createObjectLocks(
  options: LockIntentContext & {
    guard: EntryGuard
    /** Whether this server finishes the locks of interrupted uploads. */
    collects: boolean
  },
) {
  const { db, storage, audit, guard } = options
  const collector = options.collects ? startLockCollector(options) : null

  /** @throws INVALID_INPUT */
  async function requireSettings(providerId: string): Promise<ObjectLockSettings> {
    const settings = await guard.objectLockSettings(providerId)
    if (settings) return settings
    throw new AppError('INVALID_INPUT', 'The bucket has no configuration of Object Lock: set one first.')
  }

  function newLock({ workspaceId, providerId, path, viewer }: Grant, objectLock: ObjectLockKind, until: Date | null) {
    const { userId } = viewer.member
    return { workspaceId, providerId, path, reason: `S3 Object Lock: ${objectLock}`, until, userId, objectLock }
  }

  /** Runs a change of the locks of an existing object, one at a time. */
  async function change<T>(
    viewer: Viewer | null,
    { input, action, details }: { input: ObjectInput; action: 'HOLD_CREATE' | 'HOLD_RELEASE'; details: object },
    signal: AbortSignal,
    work: (change: Change, granted: Grant, present: readonly EntryHold[], object: LockedObject) => Promise<T>,
  ): Promise<T> {
    const { version = null } = input
    const named = { ...details, ...(version !== null && isId(version) && { versionId: version }) }
    return audit.recorded(viewer, action, { location: locationOf(input), details: named }, async recording => {
      const [granted] = authorize(viewer, needs.hold, input)
      const { providerId, path } = granted
      await requireSettings(providerId)
      const object = { providerId, path, versionId: version }
      const commit = () =>
        recording.commit(async tx => {
          if (version === null) await lockProvider(tx, providerId)
          else if (!(await lockVersion(tx, object, version))) throw noSuchVersion()
          return work(tx, granted, await findObjectLocks(tx, object), object)
        })
      if (version !== null && nativeIdOf(version) !== null) throw notLockable()
      if (version !== null && !isId(version)) throw noSuchVersion()
      if (version !== null) return commit()
      const location = await storage.writeAt(authorize(viewer, needs.delete, input)[0])
      return location.inTurn(signal, async () => {
        const { kind } = await location.stat(signal)
        if (kind !== 'file') throw new AppError('NOT_A_FILE')
        const result = await commit()
        await requireStillThere(viewer, input, location, signal)
        return result
      })
    })
  }

  /**
   * Requires that an object still exists. Ends the locks of one that is gone, because they would hold for its path and the folders around it.
   * @throws NOT_FOUND after it has ended them
   */
  async function requireStillThere(
    viewer: Viewer | null,
    input: ObjectInput,
    location: WriteLocation,
    signal: AbortSignal,
  ): Promise<void> {
    if (await statOrNull(location, signal)) return
    const { providerId, path } = location
    await audit.recorded(viewer, 'HOLD_RELEASE', { location: locationOf(input) }, recording =>
      recording.commit(tx => setObjectLock(tx, { providerId, path, versionId: null }, allKinds, null)),
    )
    throw new AppError('NOT_FOUND')
  }

  /** Returns where the content of an upload is now: at its path, or in a version if another upload has replaced it. @throws UNAVAILABLE */
  async function findStored(location: WriteLocation, stored: FileEntry, signal: AbortSignal): Promise<LockedObject> {
    const { providerId, path } = location
    const present = await statOrNull(location, signal)
    if (present?.kind === 'file' && isSameContent(present, stored)) return { providerId, path, versionId: null }
    const version = await findVersionOf(db, { providerId, path }, stored)
    if (version) return { providerId, path, versionId: version.id }
    throw new AppError('UNAVAILABLE', 'Another change has met this upload, so the object is not locked: repeat it.')
  }

  /** @throws ON_HOLD, and as `requireOwner` */
  function requireMayChange(viewer: Viewer | null, present: EntryHold, retention: Retention | null, bypasses: boolean) {
    const isKept = retention?.mode === present.objectLock && present.until !== null && retention.until >= present.until
    if (isKept) return
    if (present.objectLock === 'COMPLIANCE') {
      throw new AppError('ON_HOLD', 'A retention in the mode COMPLIANCE ends at its date, and nobody shortens it.')
    }
    if (!bypasses) {
      throw new AppError('ON_HOLD', 'Only an owner who asks to bypass the retention can shorten it or change its mode.')
    }
    requireOwner(viewer)
  }

  /**
   * Sets the retention of an object, or ends it with null.
   * @param options.bypasses whether the client asks to bypass the mode GOVERNANCE, which only owners may
   * @throws NOT_FOUND, ON_HOLD, INVALID_INPUT, as `authorize`
   */
  function retain(
    viewer: Viewer | null,
    input: ObjectInput,
    retention: Retention | null,
    { bypasses, signal }: { bypasses: boolean; signal: AbortSignal },
  ): Promise<void> {
    const details = retention
      ? { retention: retention.mode, until: formatTime(retention.until) }
      : { retention: 'none', bypasses }
    const action = retention ? 'HOLD_CREATE' : 'HOLD_RELEASE'
    return change(viewer, { input, action, details }, signal, async (tx, granted, present, object) => {
      if (retention) parseHoldEnd(retention.until)
      for (const lock of present) {
        if (lock.objectLock !== 'LEGAL_HOLD') requireMayChange(viewer, lock, retention, bypasses)
      }
      const lock = retention && newLock(granted, retention.mode, retention.until)
      await setObjectLock(tx, object, retentionModes, lock)
    })
  }

  /** Stores the locks that an object is going to have: none if the storage keeps no versions, which these would need. */
  async function intendLocks(granted: Grant<'write'>, { retention, isHeld }: ObjectLock, signal: AbortSignal) {
    if (!retention && !isHeld) return beginLocks(options, granted, [], null)
    const location = await storage.writeAt(granted)
    if ((await location.versionTraits()).count === 0) return beginLocks(options, granted, [], null)
    const holds = [
      ...(retention ? [newLock(granted, retention.mode, retention.until)] : []),
      ...(isHeld ? [newLock(granted, 'LEGAL_HOLD', null)] : []),
    ]
    return beginLocks(options, granted, holds, await statOrNull(location, signal))
  }

  return {
    /** Returns the settings of a bucket; null if it has none. @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED */
    async settings(viewer: Viewer | null, providerId: string): Promise<ObjectLockSettings | null> {
      grantBases(viewer, 'read', providerId)
      return guard.objectLockSettings(providerId)
    },

    /**
     * Switches Object Lock on, or changes the retention of new objects. Nobody switches it off again.
     * @throws PRECONDITION_FAILED if the provider keeps no versions; INVALID_INPUT, as `authorize`
     */
    configure(viewer: Viewer | null, providerId: string, settings: ObjectLockSettings): Promise<void> {
      const { mode, days } = settings.retention ?? { mode: 'none', days: 0 }
      const facts = { location: { providerId, path: '/' }, details: { objectLock: mode, days } }
      return audit.recorded(viewer, 'PROVIDER_UPDATE', facts, async recording => {
        const [granted] = authorize(viewer, needs.manageProvider, { id: providerId })
        if (settings.retention && (days < 1 || days > maxRetentionDays)) {
          throw new AppError('INVALID_INPUT', `A retention has 1 to ${maxRetentionDays} days.`)
        }
        const { count, isNative } = await storage.versionTraits(await storage.record(granted))
        if (count === 0) {
          const own = isNative ? ' The back end deletes those that it keeps itself by rules of its own.' : ''
          const message = `Object Lock keeps earlier versions: set how many versions the storage keeps first.${own}`
          throw new AppError('PRECONDITION_FAILED', message)
        }
        await recording.commit(tx => setObjectLockSettings(tx, providerId, settings))
      })
    },

    /** Returns the locks of an object, whether there is something at its path or not. @throws NOT_FOUND for a version, as `authorize` */
    async of(viewer: Viewer | null, input: ObjectInput): Promise<ObjectLock & { isVersioned: boolean }> {
      const { version = null } = input
      const [{ providerId, path }] = authorize(viewer, needs.read, input)
      // Only versions that Stowage keeps have locks.
      if (version !== null && nativeIdOf(version) !== null) return unlocked
      if (version !== null && !(isId(version) && (await findVersion(db, version, { providerId, path })))) {
        throw noSuchVersion()
      }
      if (!(await guard.objectLockSettings(providerId))) return unlocked
      const locks = await findObjectLocks(db, { providerId, path, versionId: version })
      const retentions = locks.flatMap(({ objectLock, until }) =>
        objectLock === 'LEGAL_HOLD' || objectLock === null || until === null ? [] : [{ mode: objectLock, until }],
      )
      // Uploads that meet can leave several: the one that lasts longest counts for people, and all of them hold.
      const [retention = null] = retentions.toSorted((a, b) => b.until.getTime() - a.until.getTime())
      return { retention, isHeld: locks.some(({ objectLock }) => objectLock === 'LEGAL_HOLD'), isVersioned: true }
    },

    retain,

    /** Begins or ends the legal hold of an object, which only owners end. @throws as `retain` */
    hold(viewer: Viewer | null, input: ObjectInput, isHeld: boolean, signal: AbortSignal): Promise<void> {
      const action = isHeld ? 'HOLD_CREATE' : 'HOLD_RELEASE'
      const details = { legalHold: isHeld }
      return change(viewer, { input, action, details }, signal, async (tx, granted, _present, object) => {
        if (!isHeld) requireOwner(viewer)
        await setObjectLock(tx, object, ['LEGAL_HOLD'], isHeld ? newLock(granted, 'LEGAL_HOLD', null) : null)
      })
    },

    /**
     * Ends a retention in the mode GOVERNANCE, if the object as it is now has one, and then runs `remove`. If that fails, the object gets its
     * retention again. @throws as `retain` and `remove`
     */
    async bypassing<T>(
      viewer: Viewer | null,
      input: LocationInput,
      signal: AbortSignal,
      remove: () => Promise<T>,
    ): Promise<T> {
      const { retention, isHeld } = await this.of(viewer, input)
      if (retention?.mode !== 'GOVERNANCE' || isHeld) return remove()
      await retain(viewer, input, null, { bypasses: true, signal })
      try {
        return await remove()
      } catch (error) {
        const late = AbortSignal.timeout(undoTimeout)
        await retain(viewer, input, retention, { bypasses: false, signal: late }).catch(() => {})
        throw error
      }
    },

    /** Refuses locks that the viewer may not give. @throws INVALID_INPUT, as `authorize` */
    async requireMayLock(viewer: Viewer | null, input: LocationInput, asked: ObjectLock): Promise<void> {
      authorize(viewer, needs.hold, input)
      await requireSettings(input.providerId)
      if (asked.retention) parseHoldEnd(asked.retention.until)
    },

    /**
     * Stores a new object with `store`, and then locks its content, as asked or with the retention of the bucket. When this returns, it is
     * locked.
     * @param options.isRepeated whether an earlier call may have stored and locked the same object
     * @throws as `requireMayLock` and `store`; UNAVAILABLE if another change has taken the content away meanwhile
     */
    async storing(
      viewer: Viewer | null,
      input: LocationInput,
      asked: ObjectLock | null,
      store: () => Promise<FileEntry>,
      { signal, isRepeated = false }: { signal: AbortSignal; isRepeated?: boolean },
    ): Promise<StoredObject> {
      if (asked) {
        authorize(viewer, needs.hold, input)
        await requireSettings(input.providerId)
      }
      const target = targetOf(viewer, input)
      const early = target && (await guard.objectLockSettings(target.providerId))
      using intents = early && (await intendLocks(target, lockOf(asked, early), signal))
      const entry = await store().catch(async error => {
        await intents?.failed(error)
        throw error
      })
      const [settings] = await Promise.all([guard.objectLockSettings(input.providerId), intents?.stored(entry)])
      const stored = { ...entry, isVersioned: settings !== null }
      if (!settings) return stored
      const { retention, isHeld } = lockOf(asked, settings)
      if (!retention && !isHeld) return stored
      const details = {
        ...(retention && { retention: retention.mode, until: formatTime(retention.until) }),
        ...(isHeld && { legalHold: true }),
      }
      const locking = audit.recorded(
        viewer,
        'HOLD_CREATE',
        { location: locationOf(input), details },
        async recording => {
          const [granted] = authorize(viewer, needs.create, input)
          const location = await storage.writeAt(granted)
          await location.inTurn(signal, async () => {
            const object = await findStored(location, stored, signal)
            await recording.commit(async tx => {
              await shareProvider(tx, granted.providerId)
              await intents?.end(tx)
              if (object.versionId !== null && !(await lockVersion(tx, object, object.versionId))) throw noSuchVersion()
              if (isRepeated && (await findObjectLocks(tx, object)).length > 0) return
              if (retention) await setObjectLock(tx, object, [], newLock(granted, retention.mode, retention.until))
              if (isHeld) await setObjectLock(tx, object, [], newLock(granted, 'LEGAL_HOLD', null))
            })
            if (object.versionId === null) await requireStillThere(viewer, input, location, signal)
          })
        },
      )
      await locking.catch(async error => {
        await intents?.settle()
        throw error
      })
      return stored
    },

    /** Ends the work in the background. */
    stop: async (): Promise<void> => collector?.stop(),

    /** Deletes locks that have ended. */
    async sweep(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        if (!(await deleteEndedObjectLocks(db))) return
      }
    },
  }
}

function notLockable(): AppError {
  const message = 'The back end keeps this version itself and deletes it by its own rules, so it cannot be locked here.'
  return new AppError('INVALID_INPUT', message)
}

type ContentFacts = Pick<FileEntry, 'size' | 'etag' | 'fileId'>

function isSameContent(present: ContentFacts, stored: ContentFacts): boolean {
  if (present.etag !== null && stored.etag !== null) return present.etag === stored.etag
  return present.size === stored.size && present.fileId === stored.fileId
}

/** Returns the lock that an object is given which is stored now. */
function lockOf(asked: ObjectLock | null, settings: ObjectLockSettings): ObjectLock {
  // The retention of an upload in parts may be over before its end.
  const isOver = asked?.retention && asked.retention.until <= new Date()
  return { retention: isOver ? null : (asked?.retention ?? retentionFromNow(settings)), isHeld: asked?.isHeld === true }
}

function retentionFromNow({ retention }: ObjectLockSettings): Retention | null {
  return retention && { mode: retention.mode, until: new Date(Date.now() + retention.days * day) }
}

function formatTime(time: Date): string {
  return Number.isNaN(time.getTime()) ? 'invalid' : time.toISOString()
}

/** Returns the grant to store at a location. Null without one: the upload is then refused and recorded where it is made. */
function targetOf(viewer: Viewer | null, input: LocationInput): Grant<'write'> | null {
  try {
    return authorize(viewer, needs.create, input)[0]
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}
