/** Holds on entries. Each holds for its path and everything below it, until its date or until it is released. */
import { type ExpressionBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import type { StoragePath } from '../auth/path.ts'
import type { Change, Database } from './client.ts'
import { batchedAround, isAtAny, isWithinPath, restoredPath, storedPath } from './entry-paths.ts'
import type { ProviderRecord } from './providers.ts'
import { type RightsVersion, toVersion, versionColumns } from './rights.ts'
import type { ObjectLockKind, RetentionMode, Schema } from './schema.ts'

export interface EntryHold {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  workspaceId: string
  providerId: string
  path: StoragePath
  reason: string
  /** Null if the hold lasts until it is released. */
  until: Date | null
  /** The member who created it; null if their account was removed. */
  userId: string | null
  createdAt: Date
  releasedAt: Date | null
  /** Set for a hold of S3 Object Lock, which keeps the content of one object. See `db/object-locks.ts`. */
  objectLock: ObjectLockKind | null
}

export const isActiveHold = sql<SqlBool>`entry_holds.released_at is null
  and (entry_holds.held_until is null or entry_holds.held_until > now())`

/** Selects holds of what is at a path, and not those of earlier versions. */
export const isOfPath = sql<SqlBool>`entry_holds.version_id is null`

/** Returns a function that finds the active holds at a path and at the folders around it. */
export function batchedHolds(db: Database): (providerId: string, path: StoragePath) => Promise<EntryHold[]> {
  return batchedAround(async at =>
    (await db.selectFrom('entry_holds').selectAll().where(at).where(isActiveHold).where(isOfPath).execute()).map(
      toHold,
    ),
  )
}

export interface ChangeFlags {
  /** With the version of rights that the same statement has read. */
  version: RightsVersion
  hasLocks: boolean
  /** Also true if objects may have locks, which change no version of rights. */
  hasHolds: boolean
  versions: VersionSettings
  objectLock: ObjectLockSettings | null
}

/** The settings of S3 Object Lock of a provider that has them. */
export interface ObjectLockSettings {
  /** The retention of new objects; null for none. */
  retention: { mode: RetentionMode; days: number } | null
}

/** How a provider keeps earlier versions of files, as it is set. */
export type VersionSettings = Pick<ProviderRecord, 'versionCount' | 'versionDays'>

/** Returns whether a provider has any locks and holds, and how it keeps versions. */
export async function findChangeFlags(db: Database, providerId: string): Promise<ChangeFlags | null> {
  const providerOf = (eb: ExpressionBuilder<Schema, 'rights_counter'>) =>
    eb.selectFrom('providers').where('id', '=', providerId)
  const row = await db
    .selectFrom('rights_counter')
    .select(versionColumns)
    .select([
      sql<boolean>`exists (select from entry_locks where provider_id = ${providerId} and expires_at > now())`.as(
        'has_locks',
      ),
      sql<boolean>`exists (select from entry_holds where provider_id = ${providerId} and ${isActiveHold})`.as(
        'has_holds',
      ),
      eb =>
        eb
          .selectFrom('object_lock_settings')
          .where('provider_id', '=', providerId)
          .select(
            sql<Omit<Schema['object_lock_settings'], 'provider_id'>>`to_jsonb(object_lock_settings)`.as('settings'),
          )
          .as('object_lock'),
      eb => providerOf(eb).select('version_count').as('version_count'),
      eb => providerOf(eb).select('version_days').as('version_days'),
    ])
    .executeTakeFirst()
  if (!row) return null
  const versions = { versionCount: row.version_count, versionDays: row.version_days }
  const objectLock = row.object_lock && { retention: toRetention(row.object_lock) }
  const hasHolds = row.has_holds || objectLock !== null
  return { version: toVersion(row), hasLocks: row.has_locks, hasHolds, versions, objectLock }
}

function toRetention({ mode, days }: { mode: RetentionMode | null; days: number | null }) {
  return mode === null || days === null ? null : { mode, days }
}

/**
 * Returns an active hold below a path, or null.
 * @param options.ofObjects false to leave out those of S3 Object Lock
 */
export async function findHoldWithin(
  db: Database,
  { providerId, path }: { providerId: string; path: StoragePath },
  { ofObjects }: { ofObjects: boolean },
): Promise<EntryHold | null> {
  const row = await db
    .selectFrom('entry_holds')
    .selectAll()
    .where('provider_id', '=', providerId)
    .where(isWithinPath(storedPath(path)))
    .where(isActiveHold)
    .where(isOfPath)
    .$if(!ofObjects, query => query.where('object_lock', 'is', null))
    .limit(1)
    .executeTakeFirst()
  return row ? toHold(row) : null
}

/** Counts the active holds that somebody has created: not those of S3 Object Lock. */
export async function countActiveHolds(db: Database, providerId: string): Promise<number> {
  const { count } = await db
    .selectFrom('entry_holds')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('provider_id', '=', providerId)
    .where('object_lock', 'is', null)
    .where(isActiveHold)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function hasActiveHold(db: Database, providerId: string): Promise<boolean> {
  const found = await db
    .selectFrom('entry_holds')
    .select('id')
    .where('provider_id', '=', providerId)
    .where(isActiveHold)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

export type NewEntryHold = Omit<EntryHold, 'createdAt' | 'releasedAt'>

/**
 * Stores a hold. Call it in the transaction that counts the holds, after it has locked the provider.
 * @param versionId the version whose content an object lock keeps
 */
export async function insertHold(db: Change, hold: NewEntryHold, versionId: string | null = null): Promise<EntryHold> {
  const row = await db
    .insertInto('entry_holds')
    .values({
      id: hold.id,
      workspace_id: hold.workspaceId,
      provider_id: hold.providerId,
      path: storedPath(hold.path),
      reason: hold.reason,
      held_until: hold.until,
      user_id: hold.userId,
      object_lock: hold.objectLock,
      version_id: versionId,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toHold(row)
}

/** Locks a hold until the end of the transaction. Returns null if there is none. */
export async function lockHold(db: Change, workspaceId: string, id: string): Promise<EntryHold | null> {
  const row = await db
    .selectFrom('entry_holds')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .forUpdate()
    .executeTakeFirst()
  return row ? toHold(row) : null
}

/** Releases a hold. The lock of an object ends with its copy in a version of which nobody knows yet whether it was kept. */
export async function releaseHold(db: Change, { id, providerId, path, objectLock }: EntryHold): Promise<EntryHold> {
  const row = await db
    .updateTable('entry_holds')
    .set({ released_at: sql<Date>`now()` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (objectLock === null) return toHold(row)
  await db
    .updateTable('entry_holds')
    .set({ released_at: sql<Date>`now()` })
    .where('provider_id', '=', providerId)
    .where(isAtAny([storedPath(path)]))
    .where('released_at', 'is', null)
    .where('object_lock', '=', objectLock)
    .where(sql<SqlBool>`created_at = (select created_at from entry_holds where id = ${id})`)
    .execute()
  return toHold(row)
}

/** Lists the active holds of a workspace, the newest first. @param of.providerId null for all providers */
export async function listHolds(
  db: Database,
  of: { workspaceId: string; providerId: string | null },
  page: { limit: number; before: string | null },
): Promise<EntryHold[]> {
  let query = db
    .selectFrom('entry_holds')
    .selectAll()
    .where('workspace_id', '=', of.workspaceId)
    .where('due_at', 'is', null)
    .where(isActiveHold)
    .orderBy('id', 'desc')
    .limit(page.limit)
  if (of.providerId !== null) query = query.where('provider_id', '=', of.providerId)
  if (page.before !== null) query = query.where('id', '<', page.before)
  return (await query.execute()).map(toHold)
}

export function toHold(row: Selectable<Schema['entry_holds']>): EntryHold {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    providerId: row.provider_id,
    path: restoredPath(row.path),
    reason: row.reason,
    until: row.held_until,
    userId: row.user_id,
    createdAt: row.created_at,
    releasedAt: row.released_at,
    objectLock: row.object_lock,
  }
}
