/**
 * The earlier versions of files. The content of each is in the reserved folder, under the id. A row is written before anything happens at
 * a back end, and deleted after it.
 */
import { type Selectable, type SqlBool, sql } from 'kysely'
import type { StoragePath } from '../auth/path.ts'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Database } from './client.ts'
import { isActiveHold } from './entry-holds.ts'
import { isAtAny, isWithinPath, restoredPath, storedPath } from './entry-paths.ts'
import { isLockOf, timeOrderedId } from './object-locks.ts'
import type { FileVersionState, Schema } from './schema.ts'

export interface EarlierVersion {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  providerId: string
  path: StoragePath
  /** Bytes; null where the back end does not know it. */
  size: number | null
  modifiedAt: Date | null
  etag: string | null
  /** Who replaced or deleted the file. */
  userId: string
  /** The member whose quotas it counts against; null for none. */
  chargedTo: string | null
  state: FileVersionState
  replacedAt: Date
  expiresAt: Date
}

type NewEarlierVersion = Pick<EarlierVersion, 'id' | 'providerId' | 'path' | 'userId'>
export type VersionContent = Pick<EarlierVersion, 'size' | 'modifiedAt' | 'etag'>
type At = Pick<EarlierVersion, 'providerId' | 'path'>

/** Selects the active locks of a version. */
const isLockOfVersion = sql<SqlBool>`(entry_holds.version_id = file_versions.id and ${isActiveHold})`
/**
 * Selects the active holds on the path of a version or on a folder around it: no locks, except those of an object that was being stored when the
 * version was kept, which may be its content.
 */
const isHoldOnPath = sql<SqlBool>`(entry_holds.provider_id = file_versions.provider_id
  and (entry_holds.object_lock is null or (entry_holds.due_at is not null and file_versions.replaced_at >= entry_holds.created_at))
  and starts_with(file_versions.path, entry_holds.path) and ${isActiveHold})`

/** Versions on hold are not deleted, and do not expire. */
const isLocked = sql<SqlBool>`exists (select from entry_holds where ${isLockOfVersion})`
const isHeld = sql<SqlBool>`(${isLocked} or exists (select from entry_holds where ${isHoldOnPath}))`

/**
 * Selects the locks of a path whose upload has ended without saying so: what is there may be its content. After other uploads, only
 * `settleLockIntent` knows whose it is.
 */
const isAbandoned = (providerId: string, path: string) =>
  sql<SqlBool>`(entry_holds.provider_id = ${providerId} and entry_holds.due_at <= now() and jsonb_typeof(seen) is distinct from 'array'
    and left(entry_holds.path, 400) collate "C" = left(${path}, 400) and entry_holds.path = ${path})`

/** A change that has not been renewed for this time counts as interrupted. */
const leaseEnd = secondsFromNow(2 * 60)
/** The time until a server looks again at what could not be finished. */
const retryTime = secondsFromNow(60 * 60)

/**
 * Stores a version that is going to be kept for this number of days, with a copy of each lock of the object. The member who is charged for the
 * file is charged for the version. If uploads have met whose files are not charged yet, that is the one who stored the last file.
 */
export async function insertVersion(db: Database, version: NewEarlierVersion, days: number): Promise<EarlierVersion> {
  const path = storedPath(version.path)
  const row = await db
    .with('version', query =>
      query
        .insertInto('file_versions')
        .values({
          id: version.id,
          provider_id: version.providerId,
          path,
          user_id: version.userId,
          charged_to: sql<string | null>`coalesce(
            (select user_id from quota_changes
              where provider_id = ${version.providerId} and due_at is not null and path = ${path} and source_path is null
                and stored_size is not null
              order by least(due_at, now()) desc, begun_at desc limit 1),
            (select user_id from quota_files
              where provider_id = ${version.providerId} and md5(path) = md5(${path}) and path = ${path}))`,
          state: 'KEEPING',
          size: null,
          expires_at: sql`now() + make_interval(days => ${days})`,
          due_at: leaseEnd,
        })
        .returningAll(),
    )
    .with('locks', query =>
      query.insertInto('entry_holds').expression(
        sql`select ${timeOrderedId}, workspace_id, entry_holds.provider_id, entry_holds.path, reason, held_until, entry_holds.user_id,
            created_at, released_at, object_lock, version.id
          from entry_holds cross join version
          where (${isLockOf({ ...version, versionId: null })} or ${isAbandoned(version.providerId, path)}) and ${isActiveHold}`,
      ),
    )
    .selectFrom('version')
    .selectAll()
    .executeTakeFirstOrThrow()
  return toVersion(row)
}

/**
 * Lists a version, which is in the reserved folder now, unless somebody has removed it by now. The locks of the object of which the version
 * has copies no longer hold for the path. Of the versions with its path, removes the oldest ones, but none on hold.
 * @param count the maximum number of versions of a file; null to remove none
 * @param endsLocks false if nobody knows whether the file was replaced: then its locks hold for the path, too
 * @returns false if the row of the version is gone: it was restored, or another server has taken it for one that never got there
 */
export async function markKept(
  db: Database,
  { id, providerId, path }: EarlierVersion,
  { size, modifiedAt, etag }: VersionContent,
  count: number | null,
  { endsLocks } = { endsLocks: true },
): Promise<boolean> {
  const { rows } = await sql`
    with kept as (
      update file_versions set state = 'KEPT', size = ${size}, modified_at = ${modifiedAt}, etag = ${etag}, due_at = expires_at
      where id = ${id} and state in ('KEEPING', 'RESTORING')
      returning id
    ), ended as (
      delete from entry_holds
      where ${endsLocks}::boolean and ${isLockOf({ providerId, path, versionId: null })} and released_at is null
        and exists (select from kept join entry_holds copied on copied.version_id = kept.id
          where copied.created_at = entry_holds.created_at)
    ), removed as (
      update file_versions set state = 'REMOVING', due_at = now()
      where id in (
        select id from file_versions
        where provider_id = ${providerId} and ${isAtAny([storedPath(path)])} and state = 'KEPT' and id < ${id}
          and not ${isHeld}
        order by id desc offset ${count === null ? null : Math.max(0, count - 1)} limit ${count === null ? 0 : null}
      )
    )
    select from file_versions where id = ${id}`.execute(db)
  return rows.length > 0
}

/** Stores and lists a version again whose row is gone, although its content is in the reserved folder. */
export async function insertKept(db: Database, version: EarlierVersion, content: VersionContent): Promise<void> {
  const { id, providerId, userId, chargedTo, replacedAt, expiresAt } = version
  const { size, modifiedAt, etag } = content
  await db
    .insertInto('file_versions')
    .values({
      id,
      provider_id: providerId,
      path: storedPath(version.path),
      user_id: userId,
      charged_to: chargedTo,
      state: 'KEPT',
      size,
      modified_at: modifiedAt,
      etag,
      replaced_at: replacedAt,
      expires_at: expiresAt,
      due_at: expiresAt,
    })
    .onConflict(conflict => conflict.column('id').doNothing())
    .execute()
}

/** Renews the lease of a version whose state changes. */
export async function renewVersion(db: Database, id: string): Promise<void> {
  await db
    .updateTable('file_versions')
    .set({ due_at: leaseEnd })
    .where('id', '=', id)
    .where('state', '!=', 'KEPT')
    .execute()
}

/** Looks again later, unless the version has another state by now. */
export async function postponeVersion(db: Database, { id, state }: EarlierVersion): Promise<void> {
  await db
    .updateTable('file_versions')
    .set({ due_at: retryTime })
    .where('id', '=', id)
    .where('state', '=', state)
    .execute()
}

/** Looks again when the hold on an expired version ends, and each day if that has no date, because it may be released. */
export async function postponeHeldVersion(db: Database, { id }: EarlierVersion): Promise<void> {
  const nextLook = sql<Date>`coalesce((
    select case when bool_or(held_until is null) then now() + interval '1 day' else max(held_until) end
    from entry_holds where ${isLockOfVersion} or ${isHoldOnPath}), now())`
  await db
    .updateTable('file_versions')
    .set({ due_at: nextLook })
    .where('id', '=', id)
    .where('state', '=', 'KEPT')
    .execute()
}

export async function deleteVersionRow(db: Database, id: string): Promise<void> {
  await db.deleteFrom('file_versions').where('id', '=', id).execute()
}

/**
 * Takes a version out of the list, so that a server deletes its content. Returns false if it was not in this state, or if it is listed and
 * on hold.
 */
export async function removeVersion(
  db: Database,
  { id, state }: Pick<EarlierVersion, 'id' | 'state'>,
): Promise<boolean> {
  // The locks of what was not kept are still those of the path.
  const { rows } = await sql`
    with removed as (
      update file_versions set state = 'REMOVING', due_at = now()
      where id = ${id} and state = ${state} and (state <> 'KEPT' or not ${isHeld}) returning id
    ), ended as (
      delete from entry_holds using removed where entry_holds.version_id = removed.id and ${state}::text <> 'KEPT'
    )
    select from removed`.execute(db)
  return rows.length > 0
}

/**
 * Takes the versions of everything at a path and below it out of the list.
 * @param before only those that were replaced before this time; null for all
 */
export async function removeVersionsWithin(db: Database, { providerId, path }: At, before: Date | null): Promise<void> {
  await db
    .updateTable('file_versions')
    .set({ state: 'REMOVING', due_at: sql<Date>`now()` })
    .where('provider_id', '=', providerId)
    .where(isWithinPath(storedPath(path)))
    .where('state', '=', 'KEPT')
    .where(sql<SqlBool>`replaced_at <= coalesce(${before}, now())`)
    .where(sql<SqlBool>`not ${isHeld}`)
    .execute()
}

export interface EntryMove {
  from: At
  to: At
  /** When it was done, as of `performance.now()`. What is at the earlier path since then is another entry. Default: now */
  doneAt?: number
}

/** Returns the milliseconds since each move, because the clock of the database may differ. */
export function agesOf(moves: readonly EntryMove[]): number[] {
  const now = performance.now()
  return moves.map(({ doneAt = now }) => now - doneAt)
}

/**
 * Gives the versions of everything at some paths and below them the paths that it has been moved to. Versions stay where they are if an
 * entry has moved to another provider.
 * @param before only those that were replaced before this time; null for all
 */
export async function moveVersions(db: Database, moves: readonly EntryMove[], before: Date | null): Promise<void> {
  const inside = moves.filter(({ from, to }) => from.providerId === to.providerId && from.path !== to.path)
  if (inside.length === 0) return
  const providerIds = inside.map(({ from }) => from.providerId)
  const [sources, targets] = [
    inside.map(({ from }) => storedPath(from.path)),
    inside.map(({ to }) => storedPath(to.path)),
  ]
  await sql`
    with followed as (
      update file_versions set path = moved.target || substr(path, length(moved.source) + 1)
      from unnest(${providerIds}::uuid[], ${sources}::text[], ${targets}::text[], ${agesOf(inside)}::double precision[])
        as moved (provider_id, source, target, age)
      where file_versions.provider_id = moved.provider_id
        and left(path, 400) collate "C" between left(moved.source, 400) and left(rtrim(moved.source, '/') || '0', 400)
      and starts_with(path, moved.source)
      and replaced_at <= least(${before}::timestamptz, now() - moved.age * interval '1 millisecond')
      returning id, path
    )
    update entry_holds set path = followed.path from followed where entry_holds.version_id = followed.id`.execute(db)
}

/** Returns the newest versions of a path first. @param page.before the id before which they are; null for the newest */
export async function listVersions(
  db: Database,
  { providerId, path }: At,
  { limit, before }: { limit: number; before: string | null },
): Promise<EarlierVersion[]> {
  const rows = await db
    .selectFrom('file_versions')
    .selectAll()
    .where('provider_id', '=', providerId)
    .where(isAtAny([storedPath(path)]))
    .where('state', '=', 'KEPT')
    .$if(before !== null, query => query.where('id', '<', before as string))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toVersion)
}

/** Returns the newest listed version of a path with this content; null if there is none. */
export async function findVersionOf(
  db: Database,
  { providerId, path }: At,
  { size, modifiedAt, etag }: VersionContent,
): Promise<EarlierVersion | null> {
  const row = await db
    .selectFrom('file_versions')
    .selectAll()
    .where('provider_id', '=', providerId)
    .where(isAtAny([storedPath(path)]))
    .where('state', '=', 'KEPT')
    .where(sql<SqlBool>`size is not distinct from ${size}::bigint and (etag = ${etag} or modified_at = ${modifiedAt})`)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ? toVersion(row) : null
}

/** Returns a version that is listed at the path. */
export async function findVersion(db: Database, id: string, { providerId, path }: At): Promise<EarlierVersion | null> {
  const row = await db
    .selectFrom('file_versions')
    .selectAll()
    .where('id', '=', id)
    .where('provider_id', '=', providerId)
    .where('path', '=', storedPath(path))
    .where('state', '=', 'KEPT')
    .executeTakeFirst()
  return row ? toVersion(row) : null
}

/** Takes a version out of the list, to restore it. Returns null if it is not listed at the path. */
export async function takeVersion(db: Database, id: string, { providerId, path }: At): Promise<EarlierVersion | null> {
  const row = await db
    .updateTable('file_versions')
    .set({ state: 'RESTORING', due_at: leaseEnd })
    .where('id', '=', id)
    .where('provider_id', '=', providerId)
    .where('path', '=', storedPath(path))
    .where('state', '=', 'KEPT')
    .returningAll()
    .executeTakeFirst()
  return row ? toVersion(row) : null
}

/**
 * Notes the content of a version, by which a server finds out whether the file was replaced.
 * @param options.isOver whether the change has failed, so that a server looks at once
 */
export async function noteContent(
  db: Database,
  id: string,
  { size, modifiedAt, etag }: VersionContent,
  { isOver }: { isOver: boolean },
): Promise<void> {
  await db
    .updateTable('file_versions')
    .set({ size, modified_at: modifiedAt, etag, due_at: isOver ? sql<Date>`now()` : leaseEnd })
    .where('id', '=', id)
    .where('state', '=', 'KEEPING')
    .execute()
}

const isDue = sql<SqlBool>`waiting.due_at <= now()`

export function isAnyVersionDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'file_versions', isDue)
}

/**
 * Claims a version that has expired or whose change was interrupted, as it is from now on: an expired one is REMOVING, unless it is on
 * hold. One that was removed while somebody locked it is KEPT again.
 */
export async function claimVersion(db: Database): Promise<EarlierVersion | null> {
  const dueKeys = dueRows('file_versions', { isDue, orderBy: sql`waiting.due_at` })
  const set = sql`due_at = ${leaseEnd},
    state = case when file_versions.state = 'KEPT' and not ${isHeld} then 'REMOVING'
      when file_versions.state = 'REMOVING' and ${isLocked} then 'KEPT' else file_versions.state end`
  const [row] = await claimRows(db, 'file_versions', { dueKeys, set })
  return row ? toVersion(row) : null
}

export function toVersion(row: Selectable<Schema['file_versions']>): EarlierVersion {
  return {
    id: row.id,
    providerId: row.provider_id,
    path: restoredPath(row.path),
    size: row.size === null ? null : Number(row.size),
    modifiedAt: row.modified_at,
    etag: row.etag,
    userId: row.user_id,
    chargedTo: row.charged_to,
    state: row.state,
    replacedAt: row.replaced_at,
    expiresAt: row.expires_at,
  }
}
