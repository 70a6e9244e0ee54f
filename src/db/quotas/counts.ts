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
/** The reason why the sums of a provider are inexact. */
const wantedCount = {
  counted_at: null,
  wanted_at: sql<Date>`clock_timestamp()`,
  due_at: sql<Date>`case when lease_id is null then now() else due_at end`,
}

export function isAnyCountDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'quota_counts', isDue)
}

/** Returns the id of a provider. */
export async function claimCount(db: Database, lease: string): Promise<string | null> {
  const [row] = await claimRows(db, 'quota_counts', {
    dueKeys: dueRows('quota_counts', { isDue, orderBy: sql`waiting.due_at` }),
    set: sql`lease_id = ${lease}, due_at = ${secondsFromNow(leaseSeconds)}`,
  })
  return row?.id ?? null
}

/** Returns false if another server counts. */
export async function renewCount(db: Database, providerId: string, lease: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('quota_counts')
    .set({ due_at: secondsFromNow(leaseSeconds) })
    .where('id', '=', providerId)
    .where('lease_id', '=', lease)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Ends a count. If somebody has wanted one since it began, the next one begins at once. @param seconds until the next one */
export async function endCount(
  db: Database,
  providerId: string,
  lease: string,
  { begunAt, seconds }: { begunAt: Date | null; seconds: number },
): Promise<void> {
  const isEnough = sql<boolean>`coalesce(wanted_at < ${begunAt}, true)`
  await db
    .updateTable('quota_counts')
    .set({
      lease_id: null,
      due_at:
        begunAt === null
          ? secondsFromNow(seconds)
          : sql<Date>`case when ${isEnough} then ${secondsFromNow(seconds)} else now() end`,
      ...(begunAt !== null && { counted_at: sql<Date>`case when ${isEnough} then now() end` }),
    })
    .where('id', '=', providerId)
    .where('lease_id', '=', lease)
    .execute()
}

/** Makes the sums of a provider inexact until they are counted again. A count that is running goes on, because it may be the first one. */
export async function requestCount(db: Database, providerId: string): Promise<void> {
  await db.updateTable('quota_counts').set(wantedCount).where('id', '=', providerId).execute()
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

/** A provider that is being counted. */
export interface CountedProvider {
  providerId: string
  workspaceId: string
  /** When the count began. */
  begunAt: Date
}

export interface CountedFile {
  path: StoragePath
  /** The path whose quotas it counts against. */
  chargedPath: StoragePath
  /** Null if the back end does not say. */
  size: number | null
  /** Who is charged if nobody knows the file yet. Default: nobody */
  userId?: string | null
}

/**
 * Corrects files that a listing has shown, except those that changed later.
 * @param listing.listedAt when the listing began
 */
export async function mergeCounted(
  db: Database,
  { providerId, workspaceId, begunAt }: CountedProvider,
  { files, listedAt }: { files: readonly CountedFile[]; listedAt: Date },
): Promise<void> {
  if (files.length === 0) return
  await changing(db, { workspaceId }, async trx => {
    await sql`select pg_advisory_xact_lock(hashtextextended('quota ' || ${providerId}, 0))`.execute(trx)
    await sql`
      insert into quota_files as known (provider_id, workspace_id, user_id, size, changed_at, counted_at, path, charged_path)
      select ${providerId}, ${workspaceId}, f.member, coalesce(f.size, earlier.size, 0), ${listedAt}, ${begunAt}, f.path, f.charged
      from unnest(${files.map(({ path }) => storedPath(path))}::text[],
        ${files.map(({ chargedPath }) => storedPath(chargedPath))}::text[],
        ${files.map(({ size }) => size)}::bigint[],
        ${files.map(({ userId }) => userId ?? null)}::uuid[]) as f (path, charged, size, member)
      left join quota_files earlier on earlier.provider_id = ${providerId} and md5(earlier.path) = md5(f.path)
      where not exists (select from quota_marks m
        where m.provider_id = ${providerId} and m.made_at >= ${listedAt} and starts_with(f.path, m.path))
      order by md5(f.path)
      on conflict (provider_id, md5(path)) do update set counted_at = excluded.counted_at,
        size = case when known.changed_at < ${listedAt} then excluded.size else known.size end,
        user_id = case when known.changed_at < ${listedAt} and excluded.size <> known.size then null else known.user_id end,
        charged_path = case when known.changed_at < ${listedAt} and starts_with(known.charged_path, ${storedPath(trashFolder)})
          then excluded.charged_path else known.charged_path end`.execute(trx)
  })
}

/** Confirms what is known at and below a path, which no listing shows. */
export async function keepCounted(
  db: Database,
  { begunAt, ...provider }: CountedProvider,
  path: StoragePath,
): Promise<void> {
  await changing(db, provider, trx =>
    trx
      .updateTable('quota_files')
      .set({ counted_at: begunAt })
      .where('provider_id', '=', provider.providerId)
      .where(isWithinPath(storedPath(path)))
      .execute(),
  )
}

/** Deletes the files that a whole count has not found. */
export async function removeUncounted(db: Database, { begunAt, ...provider }: CountedProvider): Promise<void> {
  for (;;) {
    const { rows } = await changing(db, provider, trx =>
      sql`
        delete from quota_files where ctid = any(array(
          select ctid from quota_files where provider_id = ${provider.providerId} and changed_at < ${begunAt}
            and coalesce(counted_at, '-infinity') < ${begunAt} order by md5(path) limit ${batch} for update))
        returning 1`.execute(trx),
    )
    if (rows.length < batch) return
  }
}

/** Takes the lock of the workspace before any other, like all that changes what quotas count. */
function changing<T>(
  db: Database,
  { workspaceId }: Pick<CountedProvider, 'workspaceId'>,
  work: (trx: Database) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async trx => {
    await sql`select pg_advisory_xact_lock_shared(hashtextextended('quotas ' || ${workspaceId}::text, 0))`.execute(trx)
    return work(trx)
  })
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

/** Returns a page of the versions whose content is in the reserved folder. */
export async function listKeptVersions(
  db: Database,
  providerId: string,
  after: string | null,
): Promise<{ id: string; path: StoragePath; size: number | null; userId: string | null; isSettled: boolean }[]> {
  let query = db
    .selectFrom('file_versions')
    .select(['id', 'path', 'size', 'charged_to', 'state'])
    .where('provider_id', '=', providerId)
    .orderBy('id')
    .limit(batch)
  if (after !== null) query = query.where('id', '>', after)
  return (await query.execute()).map(row => ({
    id: row.id,
    path: restoredPath(row.path),
    size: row.size === null ? null : Number(row.size),
    userId: row.charged_to,
    isSettled: row.state === 'KEPT',
  }))
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
