/**
 * The locks of objects, as S3 Object Lock names them. A lock is a hold of the content of one file. While the content is at its path, the lock
 * holds for the path. When the file is replaced or deleted, its content becomes a version, and the lock then holds for that version: see
 * `insertVersion` and `markKept`.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { timeOrderedIds } from '../auth/id.ts'
import type { StoragePath } from '../auth/path.ts'
import type { Change, Database } from './client.ts'
import {
  type EntryHold,
  insertHold,
  isActiveHold,
  isOfPath,
  type NewEntryHold,
  type ObjectLockSettings,
  toHold,
} from './entry-holds.ts'
import { isAtAny, storedPath } from './entry-paths.ts'
import type { ObjectLockKind } from './schema.ts'

/** Makes a UUID of version 7 in a statement. */
export const timeOrderedId = sql<string>`encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
  placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid`

/** An object: what is at a path, or one of its earlier versions. */
export interface LockedObject {
  providerId: string
  path: StoragePath
  /** Null for what is at the path. */
  versionId: string | null
}

const nextId = timeOrderedIds()

/** Ended locks that one statement deletes. */
const sweepSize = 5000

/**
 * Selects the locks of an object, also those that have ended, but none whose object is being stored. Names the table, for statements that read
 * others, too.
 */
export function isLockOf({ providerId, path, versionId }: LockedObject): RawBuilder<SqlBool> {
  const stored = storedPath(path)
  const isThere =
    versionId === null
      ? sql`${isOfPath} and left(entry_holds.path, 400) collate "C" = left(${stored}, 400) and entry_holds.path = ${stored}`
      : sql`entry_holds.version_id = ${versionId}`
  return sql<SqlBool>`(entry_holds.provider_id = ${providerId} and entry_holds.object_lock is not null and entry_holds.due_at is null and ${isThere})`
}

/** Returns the active locks of an object. */
export async function findObjectLocks(db: Database, object: LockedObject): Promise<EntryHold[]> {
  const rows = await db
    .selectFrom('entry_holds')
    .selectAll()
    .where(isLockOf(object))
    .where(isActiveHold)
    .orderBy('id')
    .execute()
  return rows.map(toHold)
}

/** Locks a version until the end of the transaction. Returns whether it is listed at the path. */
export async function lockVersion(db: Change, { providerId, path }: LockedObject, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('file_versions')
    .select('id')
    .where('id', '=', id)
    .where('provider_id', '=', providerId)
    .where('path', '=', storedPath(path))
    .where('state', '=', 'KEPT')
    .forUpdate()
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Gives an object a lock, instead of those of these kinds. A version that is just being kept of the object gets the lock, too. Call it in
 * the transaction that has locked the provider or the version, unless the object is new.
 */
export async function setObjectLock(
  db: Change,
  object: LockedObject,
  kinds: readonly ObjectLockKind[],
  lock: Omit<NewEntryHold, 'id'> | null,
): Promise<void> {
  const { providerId, path, versionId } = object
  const keeping =
    versionId !== null
      ? []
      : await db
          .selectFrom('file_versions')
          .select('id')
          .where('provider_id', '=', providerId)
          .where(isAtAny([storedPath(path)]))
          .where('state', '=', 'KEEPING')
          .execute()
  for (const id of [versionId, ...keeping.map(row => row.id)]) {
    const earlier = db
      .deleteFrom('entry_holds')
      .where(isLockOf({ ...object, versionId: id }))
      .where(isActiveHold)
    if (kinds.length > 0) await earlier.where('object_lock', 'in', kinds).execute()
    if (lock) await insertHold(db, { ...lock, id: nextId(new Date()) }, id)
  }
  // A version does not expire before its lock ends, and is looked at again then.
  if (versionId !== null && lock) {
    const end = lock.until ?? sql<Date>`now() + interval '1 day'`
    await db
      .updateTable('file_versions')
      .set({ due_at: sql<Date>`greatest(due_at, ${end})` })
      .where('id', '=', versionId)
      .where('state', '=', 'KEPT')
      .execute()
  }
}

/** Stores the settings of a provider. */
export async function setObjectLockSettings(
  db: Change,
  providerId: string,
  { retention }: ObjectLockSettings,
): Promise<void> {
  const values = { mode: retention?.mode ?? null, days: retention?.days ?? null }
  await db
    .insertInto('object_lock_settings')
    .values({ provider_id: providerId, ...values })
    .onConflict(conflict => conflict.column('provider_id').doUpdateSet(values))
    .execute()
}

/** Deletes locks that have ended, whose events are in the audit log. Returns whether there may be more. */
export async function deleteEndedObjectLocks(db: Database): Promise<boolean> {
  const ended = db
    .selectFrom('entry_holds')
    .select('id')
    .where('object_lock', 'is not', null)
    .where(sql<SqlBool>`least(held_until, released_at) < now() - interval '1 hour'`)
    .limit(sweepSize)
  const { numDeletedRows } = await db.deleteFrom('entry_holds').where('id', 'in', ended).executeTakeFirstOrThrow()
  return numDeletedRows === BigInt(sweepSize)
}
