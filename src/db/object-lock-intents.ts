/**
 * The locks of objects that are being stored. Each is stored before its object. It holds for the path, and for the versions of it that are
 * kept from then on, but it is the lock of no object until the object is stored.
 */
import { type SqlBool, sql } from 'kysely'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Database } from './client.ts'
import { isOfPath, type NewEntryHold, toHold } from './entry-holds.ts'
import { isAtAny, storedPath } from './entry-paths.ts'
import type { VersionContent } from './file-versions.ts'
import { timeOrderedId } from './object-locks.ts'
import type { SeenContent } from './schema.ts'

export type NewLockIntent = NewEntryHold & {
  /** What was at the path before; null for nothing. */
  seen: SeenContent | null
}

/** A lock whose object is being stored, or was. */
export type LockIntent = NewEntryHold & {
  /** The contents of the path that are not its object: what was there before, and what other uploads have stored since. */
  seen: readonly SeenContent[]
  /** Differs after each renewal of the lease. */
  lease: string
}

type LockedPath = Pick<NewEntryHold, 'providerId' | 'path'>

/** An upload that has not renewed its locks for this time counts as interrupted. */
const leaseEnd = secondsFromNow(2 * 60)
/** The time until a server looks again at what it could not find out. */
const retryTime = secondsFromNow(5 * 60)
const isDue = sql<SqlBool>`waiting.due_at <= now()`
/** The contents of other uploads that a lock remembers. After more of them, it may become the lock of one of them. */
const maxSeen = 1000
/** One content is stored as an object, because a lock has no others at first. */
const seenContents = sql`(case jsonb_typeof(entry_holds.seen) when 'array' then entry_holds.seen
  when 'object' then jsonb_build_array(entry_holds.seen) else '[]' end)`

/** Selects the locks whose object is being stored at a path. */
const isIntentAt = ({ providerId, path }: LockedPath) =>
  sql<SqlBool>`(provider_id = ${providerId} and due_at is not null and ${isOfPath} and ${isAtAny([storedPath(path)])})`

/** Stores the locks of an object before the object is stored. */
export async function insertLockIntents(db: Database, intents: readonly NewLockIntent[]): Promise<void> {
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

/**
 * Renews the lease of all locks whose object is being stored at a path: while one upload stores there, nobody can know whose content arrives.
 */
export async function renewLockIntents(db: Database, at: LockedPath): Promise<void> {
  await db.updateTable('entry_holds').set({ due_at: leaseEnd }).where(isIntentAt(at)).execute()
}

/** Notes that a content of a path is that of one upload, so that it gets no locks of the others there. @param own the locks of the upload */
export async function noteStored(
  db: Database,
  at: LockedPath,
  content: SeenContent,
  own: readonly string[],
): Promise<void> {
  await db
    .updateTable('entry_holds')
    .set({ seen: sql<null>`${seenContents} || ${JSON.stringify([content])}::jsonb` })
    .where(isIntentAt(at))
    .where(sql<SqlBool>`entry_holds.id <> all(${own}::uuid[])`)
    .where(sql<SqlBool>`jsonb_array_length(${seenContents}) < ${maxSeen}`)
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
  const isOne = sql<SqlBool>`id = any(${ids}::uuid[])`
  await db.deleteFrom('entry_holds').where(isOne).where('due_at', 'is not', null).execute()
}

export function isAnyLockIntentDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'entry_holds', isDue)
}

/** Claims a lock whose upload was interrupted. Returns its id. */
export async function claimLockIntent(db: Database): Promise<string | null> {
  const dueKeys = dueRows('entry_holds', { isDue, orderBy: sql`waiting.due_at` })
  const [row] = await claimRows(db, 'entry_holds', { dueKeys, set: sql`due_at = ${leaseEnd}` })
  return row?.id ?? null
}

export async function findLockIntent(db: Database, id: string): Promise<LockIntent | null> {
  const row = await db
    .selectFrom('entry_holds')
    .selectAll()
    .select(sql<string>`due_at::text`.as('lease'))
    .where('id', '=', id)
    .where('due_at', 'is not', null)
    .executeTakeFirst()
  return row ? { ...toHold(row), seen: [row.seen ?? []].flat(), lease: row.lease } : null
}

/**
 * Gives the lock of an interrupted upload to the object at the path, if that is `isStored`, and to each version of what the upload may have
 * stored. Without either, ends the lock. Does nothing if its lease was renewed meanwhile: then another upload stores there.
 * Returns whether there is anything that it locks.
 */
export async function settleLockIntent(
  db: Database,
  { id, providerId, path, lease }: LockIntent,
  { isStored }: { isStored: boolean },
): Promise<boolean> {
  const { rows } = await sql<{ is_locked: boolean }>`
    with intent as (
      select *, ${seenContents} as contents from entry_holds where id = ${id} and due_at::text = ${lease} for update
    ), stored as (
      select id from file_versions
      where provider_id = ${providerId} and ${isAtAny([storedPath(path)])} and state <> 'REMOVING'
        and replaced_at >= (select created_at from intent)
        and not exists (
          select from intent cross join jsonb_to_recordset(contents) as seen (size bigint, etag text, "contentTag" text, "modifiedAt" bigint)
          where seen.size is not distinct from file_versions.size and (
            seen.etag = file_versions.etag
            or (coalesce(seen.etag, file_versions.etag) is null or seen."contentTag" is not null)
            and seen."modifiedAt" is not distinct from (extract(epoch from file_versions.modified_at) * 1000)::bigint
          )
        )
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

/** Returns whether a file is this one. In doubt it is not, so that a lock is too much rather than missing. */
export function isSeen(
  content: VersionContent & { contentTag?: string | null | undefined },
  seen: SeenContent,
): boolean {
  if (content.size !== seen.size) return false
  if (content.contentTag != null && seen.contentTag !== null) return content.contentTag === seen.contentTag
  if (content.etag !== null || seen.etag !== null) return content.etag === seen.etag
  return (content.modifiedAt?.getTime() ?? null) === seen.modifiedAt
}
