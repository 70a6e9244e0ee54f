/**
 * The locks of objects that are being stored. Each is stored before its object. It holds for the path, and for the versions of it that are
 * kept from then on, but it is the lock of no object until the object is stored.
 */
import { type Selectable, type SqlBool, sql } from 'kysely'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Database } from './client.ts'
import { type NewEntryHold, toHold } from './entry-holds.ts'
import { isAtAny, storedPath } from './entry-paths.ts'
import type { VersionContent } from './file-versions.ts'
import { timeOrderedId } from './object-locks.ts'
import type { Schema, SeenContent } from './schema.ts'

export type LockIntent = NewEntryHold & {
  /** What was at the path before; null for nothing. */
  seen: SeenContent | null
}

/** An upload that has not renewed its locks for this time counts as interrupted. */
const leaseEnd = secondsFromNow(2 * 60)
/** The time until a server looks again at what it could not find out. */
const retryTime = secondsFromNow(5 * 60)
const isDue = sql<SqlBool>`waiting.due_at <= now()`

/** Stores the locks of an object before the object is stored. */
export async function insertLockIntents(db: Database, intents: readonly LockIntent[]): Promise<void> {
  const rows = intents.map(({ seen, ...hold }) => ({
    id: hold.id,
    workspace_id: hold.workspaceId,
    provider_id: hold.providerId,
    path: storedPath(hold.path),
    reason: hold.reason,
    held_until: hold.until,
    user_id: hold.userId,
    object_lock: hold.objectLock,
    version_id: null,
    due_at: leaseEnd,
    seen: seen && JSON.stringify(seen),
  }))
  await db.insertInto('entry_holds').values(rows).execute()
}

/** Renews the lease of locks whose object is being stored. */
export async function renewLockIntents(db: Database, ids: readonly string[]): Promise<void> {
  await db
    .updateTable('entry_holds')
    .set({ due_at: leaseEnd })
    .where('id', 'in', ids)
    .where('due_at', 'is not', null)
    .execute()
}

/** Looks again later. */
export async function postponeLockIntent(db: Database, id: string): Promise<void> {
  await db
    .updateTable('entry_holds')
    .set({ due_at: retryTime })
    .where('id', '=', id)
    .where('due_at', 'is not', null)
    .execute()
}

/** Ends locks whose object was not stored, or has other ones by now. */
export async function deleteLockIntents(db: Database, ids: readonly string[]): Promise<void> {
  await db.deleteFrom('entry_holds').where('id', 'in', ids).where('due_at', 'is not', null).execute()
}

export function isAnyLockIntentDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'entry_holds', isDue)
}

/** Claims a lock whose upload was interrupted. */
export async function claimLockIntent(db: Database): Promise<LockIntent | null> {
  const dueKeys = dueRows('entry_holds', { isDue, orderBy: sql`waiting.due_at` })
  const [row] = await claimRows(db, 'entry_holds', { dueKeys, set: sql`due_at = ${leaseEnd}` })
  return row ? toIntent(row) : null
}

/**
 * Gives the lock of an interrupted upload to the object at the path, if that is `isStored`, and to each version of what the upload may have
 * stored. Without either, ends the lock. Returns whether there is anything that it locks.
 */
export async function settleLockIntent(
  db: Database,
  { id, providerId, path, seen }: LockIntent,
  { isStored }: { isStored: boolean },
): Promise<boolean> {
  const wasSeen = seen
    ? sql<SqlBool>`(size is not distinct from ${seen.size}::bigint and etag is not distinct from ${seen.etag})`
    : sql<SqlBool>`false`
  const { rows } = await sql<{ is_locked: boolean }>`
    with intent as (
      select * from entry_holds where id = ${id} and due_at is not null for update
    ), stored as (
      select id from file_versions
      where provider_id = ${providerId} and ${isAtAny([storedPath(path)])} and state <> 'REMOVING'
        and replaced_at >= (select created_at from intent) and not ${wasSeen}
    ), copied as (
      insert into entry_holds (id, workspace_id, provider_id, path, reason, held_until, user_id, created_at, object_lock, version_id)
      select ${timeOrderedId}, workspace_id, provider_id, path, reason, held_until, user_id, created_at, object_lock, stored.id
      from intent cross join stored
      where not exists (
        select from entry_holds as present
        where present.version_id = stored.id and present.created_at = intent.created_at and present.object_lock = intent.object_lock
      )
    ), kept as (
      update entry_holds set due_at = null, seen = null from intent where entry_holds.id = intent.id and ${isStored}::boolean
    ), ended as (
      delete from entry_holds using intent where entry_holds.id = intent.id and not ${isStored}::boolean
    )
    select exists (select from intent) and (${isStored}::boolean or exists (select from stored)) as is_locked`.execute(
    db,
  )
  return rows[0]?.is_locked === true
}

/** Returns whether a file is still the one that was there before. In doubt it is not, so that a lock is too much rather than missing. */
export function isSeen(
  content: VersionContent & { contentTag?: string | null | undefined },
  seen: SeenContent | null,
): boolean {
  if (!seen || content.size !== seen.size) return false
  if (content.contentTag != null && seen.contentTag !== null) return content.contentTag === seen.contentTag
  if (content.etag !== null || seen.etag !== null) return content.etag === seen.etag
  return (content.modifiedAt?.getTime() ?? null) === seen.modifiedAt
}

function toIntent(row: Selectable<Schema['entry_holds']>): LockIntent {
  return { ...toHold(row), seen: row.seen }
}
