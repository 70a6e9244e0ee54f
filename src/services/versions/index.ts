/**
 * The earlier versions of files, which storage keeps. They belong to a path: a file that is created there again has them, too, and they
 * follow a file or folder that is moved within its provider. `settle.ts` ends what was interrupted or has expired.
 */
import { isId, noSuchVersion, parseVersionId } from '../../auth/id.ts'
import { type Asked, type Authorized, authorize, needs } from '../../auth/needs.ts'
import { formatPath, root } from '../../auth/path.ts'
import { type Grant, requireOwner } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Change, Database } from '../../db/client.ts'
import {
  deleteVersionRow,
  type EarlierVersion,
  findVersion,
  listVersions,
  markKept,
  removeVersion,
  takeVersion,
} from '../../db/file-versions.ts'
import { findObjectLocks, type LockedObject, lockVersion, setObjectLock } from '../../db/object-locks.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import type { Audit, AuditFacts, Recording } from '../audit/index.ts'
import {
  type ConflictBehavior,
  isMissing,
  resolveConflict,
  statOrNull,
  type Taken,
  taken,
  unlessTaken,
} from '../files/conflict.ts'
import { copyAndDelete, copyFile } from '../files/copying.ts'
import { entryAt, type FileEntry } from '../files/entry.ts'
import { openDestinations } from '../files/transfer.ts'
import { parsePageSize } from '../input.ts'
import { decodeIdCursor, encodeIdCursor, isIdCursor } from '../paging.ts'
import { afterCurrent, listWithVersions, type VersionKeyQuery } from './by-key.ts'
import { deleteNative, type KeptVersion, listNative, nativeIdOf, nativeStart, restoreNative } from './native.ts'
import { keepVersionLease, settleVersion, startVersionCollector, type VersionContext } from './settle.ts'

export type { EarlierVersion } from '../../db/file-versions.ts'
export type { KeptVersion } from './native.ts'

export const maxVersionsPage = 100
/** Milliseconds to find out where a content is after a failure. Later, a server finds out. */
const settleTimeout = 10_000

export interface RestoreVersionInput {
  /** The opaque id of a version. */
  id: string
  /** The decision that the viewer may restore it, if it is made already. */
  authorized?: Authorized<typeof needs.changeVersion>
  conflict: ConflictBehavior
}

export interface VersionServicesOptions {
  db: Database
  storage: Storage
  secrets: Secrets
  audit: Audit
  /** Whether this server deletes the content of expired versions. */
  collects: boolean
  onError: (error: unknown) => void
}

export interface VersionItem {
  version: KeptVersion | FileEntry
  cursor: string
}

export function isEarlier(version: KeptVersion | FileEntry): version is KeptVersion {
  return 'replacedAt' in version
}

export type Versions = ReturnType<typeof createVersions>

export function createVersions(options: VersionServicesOptions) {
  const { db, storage, secrets, audit, collects } = options
  const collector = collects ? startVersionCollector(options) : null

  return {
    /**
     * Returns one page of the versions of a path, the newest first: those that the back end keeps by itself, then those of Stowage.
     * @param current the file as it is now, which is the first version; null to list earlier versions only
     * @throws as `Files.stat`, INVALID_INPUT, INVALID_CURSOR
     */
    async list(
      viewer: Viewer | null,
      location: Asked<typeof needs.read>,
      page: { first: number; after?: string | null | undefined },
      current: FileEntry | null,
      signal: AbortSignal,
    ): Promise<{ items: VersionItem[]; hasNext: boolean }> {
      const [granted] = authorize(viewer, needs.read, location)
      const limit = parsePageSize(page.first, maxVersionsPage)
      const at = await storage.readAt(granted)
      const after = page.after ?? null
      const isNative = at.hasNativeVersions && (after === null || !isIdCursor(after))
      if (isNative) {
        // The current version takes the place of one on the first page.
        const first: VersionItem[] =
          current && after === null ? [{ version: current, cursor: nativeStart(secrets, at) }] : []
        const native = await listNative(secrets, at, { limit: Math.max(1, limit - first.length), after }, signal)
        const items = [...first, ...native.items].slice(0, limit)
        if (native.hasNext || items.length < first.length + native.items.length) return { items, hasNext: true }
        const [own] = await listVersions(db, granted, { limit: 1, before: null })
        const last = items.at(-1)
        // The next page begins with those of Stowage.
        if (own && last) items[items.length - 1] = { ...last, cursor: encodeIdCursor(afterCurrent) }
        if (own && !last)
          return this.list(viewer, location, { ...page, after: encodeIdCursor(afterCurrent) }, null, signal)
        return { items, hasNext: own !== undefined }
      }
      const before = after === null ? null : decodeIdCursor(after)
      const found = await listVersions(db, granted, { limit: limit + 1, before })
      const earlier = found.map(version => ({ version, cursor: encodeIdCursor(version.id) }))
      const isFirst = current && before === null
      const items = isFirst ? [{ version: current, cursor: encodeIdCursor(afterCurrent) }, ...earlier] : earlier
      return { items: items.slice(0, limit), hasNext: items.length > limit }
    },

    /** Lists keys with their versions. @throws as `listWithVersions` */
    listByKey: (viewer: Viewer | null, query: VersionKeyQuery, signal: AbortSignal) =>
      listWithVersions(options, viewer, query, signal),

    /**
     * Brings a version back to its path. The file that it replaces becomes a version itself, if the provider keeps versions.
     * @throws NOT_FOUND, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, ALREADY_EXISTS, LOCKED, ON_HOLD
     */
    restore(viewer: Viewer | null, input: RestoreVersionInput, signal: AbortSignal): Promise<FileEntry> {
      const facts = factsOfVersion(input.id, { conflict: input.conflict })
      return audit.recorded(viewer, 'RESTORE', facts, recording =>
        restoreVersion(options, viewer, input, { recording, signal }),
      )
    },

    /**
     * Takes a version out of the list. A server then deletes its content.
     * @throws NOT_FOUND, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, LOCKED, ON_HOLD
     */
    async delete(
      viewer: Viewer | null,
      input: Asked<typeof needs.changeVersion> & { id: string; bypassesGovernance?: boolean },
      signal: AbortSignal,
    ): Promise<void> {
      await audit.recorded(viewer, 'VERSION_DELETE', factsOfVersion(input.id), async recording => {
        const [granted] = authorize(viewer, needs.changeVersion, input)
        const native = nativeIdOf(parseVersionId(input.id).id)
        if (native !== null) return deleteNative(native, (await storage.writeAt(granted)).overLocked, signal)
        // The lock of the object as it is now says nothing about its versions, which have their own.
        await (await storage.writeAt(granted)).overLocked.requireChangeable({ keeps: true })
        const version = await find(db, input.id, granted)
        recording.add({ bytes: version.size, details: { replacedAt: version.replacedAt.toISOString() } })
        await recording.commit(async change => {
          // A member who locks the version does it before or after this.
          const object = { ...granted, versionId: version.id }
          if (!(await lockVersion(change, object, version.id))) throw noSuchVersion()
          if (input.bypassesGovernance) await endGovernance(change, viewer, object)
          if (!(await removeVersion(change, version))) throw lockedVersion()
        })
      })
      collector?.wake()
    },

    /** Ends the work in the background. */
    stop: async (): Promise<void> => collector?.stop(),
  }
}

/** Returns the location that an id names, for the audit log; no location for a text that is no id. */
function factsOfVersion(id: string, details: AuditFacts['details'] = {}): AuditFacts {
  try {
    const { id: versionId, providerId, path } = parseVersionId(id)
    return { location: { providerId, path }, details: { ...details, ...(isId(versionId) && { versionId }) } }
  } catch {
    return { details }
  }
}

/** Ends a retention of a version that owners may bypass, unless the deletion fails. @throws as `requireOwner` */
async function endGovernance(change: Change, viewer: Viewer | null, object: LockedObject): Promise<void> {
  const locks = await findObjectLocks(change, object)
  if (!locks.some(({ objectLock }) => objectLock === 'GOVERNANCE')) return
  requireOwner(viewer)
  await setObjectLock(change, object, ['GOVERNANCE'], null)
}

function lockedVersion(): AppError {
  return new AppError('ON_HOLD', 'The version is on hold: nobody deletes it before that ends.')
}

/** Returns the version at the granted path, whatever path the id says. @throws NOT_FOUND */
async function find(db: Database, id: string, granted: Grant): Promise<EarlierVersion> {
  const { id: versionId } = parseVersionId(id)
  const version = isId(versionId) ? await findVersion(db, versionId, granted) : null
  if (!version) throw noSuchVersion()
  return version
}

async function restoreVersion(
  context: VersionContext,
  viewer: Viewer | null,
  input: RestoreVersionInput,
  { recording, signal: requestSignal }: { recording: Recording; signal: AbortSignal },
): Promise<FileEntry> {
  const { db, storage } = context
  const [granted] = authorize(viewer, needs.changeVersion, input)
  const { providerId, path } = granted
  if (path === root) throw noSuchVersion()
  const at = await openDestinations(storage, viewer, granted)
  const { id } = parseVersionId(input.id)
  const native = nativeIdOf(id)
  if (native !== null) {
    const restored = await storage.activeGrants.run([granted], requestSignal, signal =>
      resolveConflict(path, 'file', input.conflict, async (candidate, overwrite) => {
        const destination = await at(candidate)
        const entry = await restoreNative(native, await at(path), destination, { overwrite, signal })
        return entry === taken ? taken : entryAt(destination, entry)
      }),
    )
    recording.add({ bytes: restored.size, details: { kind: 'file' } })
    recording.add({ location: { providerId, path: formatPath(restored.path) } })
    return restored
  }
  const version = isId(id) ? await takeVersion(db, id, granted) : null
  if (!version) throw noSuchVersion()
  recording.add({ bytes: version.size, details: { kind: 'file' } })
  using _lease = keepVersionLease(db, version)
  try {
    const isLocked = (await findObjectLocks(db, { ...granted, versionId: version.id })).length > 0
    const restored = await storage.activeGrants.run([granted], requestSignal, signal =>
      resolveConflict(path, 'file', input.conflict, async (candidate, overwrite) => {
        const destination = await at(candidate)
        const entry = await restoreTo(version, destination, { overwrite, isLocked, signal })
        return entry === taken ? taken : entryAt(destination, entry)
      }),
    )
    if (isLocked) await markKept(db, version, version, null)
    else await deleteVersionRow(db, version.id)
    recording.add({ location: { providerId, path: formatPath(restored.path) } })
    return restored
  } catch (error) {
    await settleVersion(context, version, AbortSignal.timeout(settleTimeout)).catch(context.onError)
    throw isMissing(error) ? noSuchVersion() : error
  }
}

async function restoreTo(
  { id, size }: EarlierVersion,
  destination: WriteLocation,
  { overwrite, isLocked, signal }: { overwrite: boolean; isLocked: boolean; signal: AbortSignal },
): Promise<CheckedEntry | Taken> {
  const source = destination.inTrash(id)
  if (isLocked) {
    // Content that S3 Object Lock keeps stays a version.
    const copied = await copyFile(source, await source.stat(signal), destination, { overwrite, signal })
    return copied === taken ? taken : copied.copy
  }
  const moved = await unlessTaken(() => source.moveTo(destination, signal, { overwrite, size }))
  if (moved !== null) return moved
  const existing = await statOrNull(destination, signal)
  if (existing && !overwrite) return taken
  if (existing?.kind === 'directory') throw new AppError('NOT_A_FILE', 'A file does not replace a folder.')
  return copyAndDelete(source, await source.stat(signal), destination, { existing, overwrite, signal })
}
