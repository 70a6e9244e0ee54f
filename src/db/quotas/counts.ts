/** Counts of what providers contain, which correct the files that quotas know. One server at a time counts a provider. */
import { type SqlBool, sql } from 'kysely'
import { type StoragePath, trashFolder } from '../../auth/path.ts'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from '../claims.ts'
import type { Database } from '../client.ts'
import { isWithinPath, restoredPath, storedPath } from '../entry-paths.ts'

/** Seconds until another server continues without a renewal. */
const leaseSeconds = 120
/** Rows that one statement deletes. */
const batch = 5000
const isDue = sql<SqlBool>`waiting.due_at <= now()`

/** Returns whether a provider has to be counted. Adds providers that were connected after a quota of a member. */
export async function isAnyCountDue(db: Database): Promise<boolean> {
  await sql`
    insert into quota_counts (id) select p.id from providers p
    where exists (select from quota_rules r where r.workspace_id = p.workspace_id and r.user_id is not null)
      and not exists (select from quota_counts c where c.id = p.id)
    on conflict do nothing`.execute(db)
  return isAnyDue(db, 'quota_counts', isDue)
}

/** Returns the id of a provider. */
export async function claimCount(db: Database, lease: string): Promise<string | null> {
  const [row] = await claimRows(db, 'quota_counts', {
    due: dueRows('quota_counts', { isDue, orderBy: sql`waiting.due_at` }),
    set: sql`lease_id = ${lease}, due_at = ${secondsFromNow(leaseSeconds)}`,
  })
  return row?.id ?? null
}

/** Returns false if somebody wants a new count, or another server counts. */
export async function renewCount(db: Database, providerId: string, lease: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('quota_counts')
    .set({ due_at: secondsFromNow(leaseSeconds) })
    .where('id', '=', providerId)
    .where('lease_id', '=', lease)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Ends a count. @param seconds until the next one */
export async function endCount(
  db: Database,
  providerId: string,
  lease: string,
  { isComplete, seconds }: { isComplete: boolean; seconds: number },
): Promise<void> {
  await db
    .updateTable('quota_counts')
    .set({ lease_id: null, due_at: secondsFromNow(seconds), ...(isComplete && { counted_at: sql<Date>`now()` }) })
    .where('id', '=', providerId)
    .where('lease_id', '=', lease)
    .execute()
}

/** Makes the sums of a provider inexact until they are counted again. */
export async function requestCount(db: Database, providerId: string): Promise<void> {
  await db
    .updateTable('quota_counts')
    .set({ counted_at: null, lease_id: null, due_at: sql<Date>`now()` })
    .where('id', '=', providerId)
    .execute()
}

/** Forgets the files of a provider to which no quota applies any more. Returns false if one applies. */
export async function forgetCount(db: Database, providerId: string): Promise<boolean> {
  const isUnlimited = sql<SqlBool>`not exists (
    select from quota_rules r join providers p on p.workspace_id = r.workspace_id
    where p.id = ${providerId} and (r.provider_id = p.id or r.user_id is not null))`
  for (;;) {
    const { rows } = await sql`
      delete from quota_files where ctid = any(array(
        select ctid from quota_files where provider_id = ${providerId} order by md5(path) limit ${batch} for update))
      and ${isUnlimited} returning 1`.execute(db)
    if (rows.length < batch) break
  }
  const gone = await db.deleteFrom('quota_counts').where('id', '=', providerId).where(isUnlimited).executeTakeFirst()
  return gone.numDeletedRows > 0n
}

/** Returns the time of the database: clocks differ. */
export async function databaseTime(db: Database): Promise<Date> {
  const { rows } = await sql<{ time: Date }>`select clock_timestamp() as time`.execute(db)
  return rows[0]?.time ?? new Date()
}

export interface CountedFile {
  path: StoragePath
  /** The path whose quotas it counts against. */
  chargedPath: StoragePath
  /** Null if the back end does not say. */
  size: number | null
}

/**
 * Corrects files that a listing has shown, except those that changed later.
 * @param listing.listedAt when the listing began
 */
export async function mergeCounted(
  db: Database,
  { providerId, workspaceId, begunAt }: { providerId: string; workspaceId: string; begunAt: Date },
  { files, listedAt }: { files: readonly CountedFile[]; listedAt: Date },
): Promise<void> {
  if (files.length === 0) return
  await db.transaction().execute(async trx => {
    await sql`select pg_advisory_xact_lock(hashtextextended('quota ' || ${providerId}, 0))`.execute(trx)
    await sql`
      insert into quota_files as known (provider_id, workspace_id, size, changed_at, counted_at, path, charged_path)
      select ${providerId}, ${workspaceId}, coalesce(f.size, 0), ${listedAt}, ${begunAt}, f.path, f.charged
      from unnest(${files.map(({ path }) => storedPath(path))}::text[],
        ${files.map(({ chargedPath }) => storedPath(chargedPath))}::text[],
        ${files.map(({ size }) => size)}::bigint[]) as f (path, charged, size)
      where not exists (select from quota_marks m
        where m.provider_id = ${providerId} and m.made_at >= ${listedAt} and starts_with(f.path, m.path))
      order by md5(f.path)
      on conflict (provider_id, md5(path)) do update set counted_at = excluded.counted_at,
        size = case when known.changed_at < ${listedAt} and excluded.size > 0 then excluded.size else known.size end,
        user_id = case when known.changed_at < ${listedAt} and excluded.size not in (0, known.size) then null
          else known.user_id end`.execute(trx)
  })
}

/** Confirms what is known at and below a path, which no listing shows. */
export async function keepCounted(db: Database, providerId: string, path: StoragePath, begunAt: Date): Promise<void> {
  await db
    .updateTable('quota_files')
    .set({ counted_at: begunAt })
    .where('provider_id', '=', providerId)
    .where(isWithinPath(storedPath(path)))
    .execute()
}

/** Deletes the files that a whole count has not found. */
export async function removeUncounted(db: Database, providerId: string, begunAt: Date): Promise<void> {
  for (;;) {
    const { rows } = await sql`
      delete from quota_files where ctid = any(array(
        select ctid from quota_files where provider_id = ${providerId} and changed_at < ${begunAt}
          and coalesce(counted_at, '-infinity') < ${begunAt} order by md5(path) limit ${batch} for update))
      returning 1`.execute(db)
    if (rows.length < batch) return
  }
}

/** Returns paths at which folders have arrived since a time. */
export async function listArrivals(db: Database, providerId: string, since: Date): Promise<StoragePath[]> {
  const rows = await db
    .selectFrom('quota_marks')
    .select('path')
    .distinct()
    .where('provider_id', '=', providerId)
    .where('made_at', '>=', since)
    .where('is_new', '=', true)
    .where(sql<SqlBool>`not starts_with(path, ${storedPath(trashFolder)})`)
    .execute()
  return rows.map(({ path }) => restoredPath(path))
}

export async function deleteMarksBefore(db: Database, providerId: string, time: Date): Promise<void> {
  await db.deleteFrom('quota_marks').where('provider_id', '=', providerId).where('made_at', '<', time).execute()
}

/** Returns a page of the items in the trash of a provider. */
export async function listTrashed(
  db: Database,
  providerId: string,
  after: string | null,
): Promise<{ id: string; nativeId: string | null; path: StoragePath; size: number | null; isFile: boolean }[]> {
  let query = db
    .selectFrom('trash_items')
    .select(['id', 'native_id', 'path', 'size', 'kind'])
    .where('provider_id', '=', providerId)
    .orderBy('id')
    .limit(batch)
  if (after !== null) query = query.where('id', '>', after)
  return (await query.execute()).map(row => ({
    id: row.id,
    nativeId: row.native_id,
    path: row.path.slice(1) as StoragePath,
    size: row.size === null ? null : Number(row.size),
    isFile: row.kind === 'file',
  }))
}
