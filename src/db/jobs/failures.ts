/** The entries that a job could not process, which stay in the database so that a retry works on all of them, and what a job reports. */
import { sql } from 'kysely'
import type { Reason } from '../../errors.ts'
import type { Database } from '../client.ts'
import { insertEntries, type JobEntry, type NewFailure, type RunId, toEntry } from './entries.ts'

export interface JobFailure {
  id: string
  providerId: string
  path: string
  reason: Reason
  message: string
}

/** Returns failures in the order in which the job found their entries, starting after the id `after`. */
export async function listFailures(
  db: Database,
  jobId: string,
  page: { limit: number; after: string | null },
): Promise<JobFailure[]> {
  let query = db
    .selectFrom('job_entries')
    .select(['id', 'provider_id as providerId', 'path', 'reason', 'message'])
    .where('job_id', '=', jobId)
  if (page.after !== null) query = query.where('id', '>', page.after)
  return query.where('reason', 'is not', null).orderBy('id').limit(page.limit).$narrowType<JobFailure>().execute()
}

/**
 * Lets the job work on what failed, and on the folders that are left because something in them failed. What a KEEP_COPIES has repaired stays
 * in its report. It counts the files that it looks at again anew.
 */
export async function retryEntries(db: Database, jobId: string): Promise<void> {
  await sql`
    update jobs set checks = (
      select jsonb_agg(checked.value || jsonb_build_object(
        'damaged', greatest(0, (checked.value->>'damaged')::bigint - coalesce(again.damaged, 0)),
        'missing', greatest(0, (checked.value->>'missing')::bigint - coalesce(again.missing, 0)),
        'changed', greatest(0, (checked.value->>'changed')::bigint - coalesce(again.changed, 0))) order by checked.n)
      from jsonb_array_elements(checks) with ordinality as checked (value, n)
      left join (
        select (finding->>'source')::int as source,
          count(*) filter (where finding->>'kind' in ('DAMAGED', 'UNCLEAR')) as damaged,
          count(*) filter (where finding->>'kind' = 'MISSING') as missing,
          count(*) filter (where finding->>'kind' = 'CHANGED') as changed
        from job_entries where job_id = ${jobId} and state = 'FILE' and reason is not null and finding is not null group by 1
      ) as again on again.source = checked.n - 1
    ) where id = ${jobId} and checks is not null`.execute(db)
  await sql`
    update job_entries set reason = null, message = null, has_failed = false, is_started = true,
      state = case when state = 'KEPT' then 'LISTED' else state end
    where job_id = ${jobId} and (reason is not null or (state = 'KEPT' and finding is null))`.execute(db)
}

/** A finding of a KEEP_COPIES. */
export interface ReportedEntry extends JobEntry {
  /** Null for what is restored, or would be. */
  reason: Reason | null
  message: string | null
}

/** Returns what a KEEP_COPIES has found, in the order in which it found it, starting after the id `after`. */
export async function listFindings(
  db: Database,
  jobId: string,
  page: { limit: number; after: string | null },
): Promise<ReportedEntry[]> {
  let query = db.selectFrom('job_entries').selectAll().where('job_id', '=', jobId)
  if (page.after !== null) query = query.where('id', '>', page.after)
  const rows = await query
    .where(({ or, eb }) => or([eb('reason', 'is not', null), eb('finding', 'is not', null)]))
    .orderBy('id')
    .limit(page.limit)
    .execute()
  return rows.map(row => ({ ...toEntry(row), reason: row.reason, message: row.message }))
}

/** Counts what the report of a KEEP_COPIES lists so far. */
export async function countFindings(db: Database, jobId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from job_entries
    where job_id = ${jobId} and (reason is not null or state = 'KEPT')`.execute(db)
  return rows[0]?.count ?? 0
}

/** Returns whether the report of a KEEP_COPIES has no room for everything that has failed. Its top then has failed, too. */
export async function isReportFull(db: Database, jobId: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from job_entries inner join jobs on jobs.id = job_id
    where job_id = ${jobId} and kind = 'KEEP_COPIES' and job_entries.state = 'SOURCE' and reason = 'TOO_LARGE' limit 1`.execute(
    db,
  )
  return rows.length > 0
}

/**
 * Counts what has failed, was restored or was settled in a KEEP_COPIES and is not in its report, which is full, and the planned repairs that
 * would exceed it.
 * @param room the maximum number of planned repairs and findings that are listed
 */
export async function countUnlisted(db: Database, jobId: string, room: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select (greatest(0, jobs.failed - listed.failed) + greatest(0, counted.restored - listed.restored)
      + greatest(0, counted.settled - listed.settled) + greatest(0, listed.found - ${room}::bigint))::float8 as count
    from jobs
    cross join lateral (
      select coalesce(sum((each->>'restored')::bigint), 0) as restored,
        coalesce(sum((each->>'settled')::bigint), 0) as settled
      from jsonb_array_elements(jobs.checks) as each
    ) as counted
    cross join (
      select count(*) filter (where reason is not null) as failed,
        count(*) filter (where reason is null and state = 'KEPT' and finding->>'from' is not null) as restored,
        count(*) filter (where reason is null and state = 'KEPT' and finding is not null and finding->>'from' is null) as settled,
        count(*) filter (where reason is not null or finding is not null) as found
      from job_entries where job_id = ${jobId}
    ) as listed
    where jobs.id = ${jobId}`.execute(db)
  return rows[0]?.count ?? 0
}

/**
 * Fails the files that are to be restored because they are missing in one source, if these are at least `least` and more than half of those
 * that should be there. A retry restores them.
 * @param side.keptFolders the pairs whose files should be there
 * @param failure.room how many of them the report lists, at least one, which a retry finds. The others only count
 * @param failure.full the failure that says that the report is full; null if the report has it already
 * @returns how many; null if it has not failed them
 */
export async function failRestorations(
  db: Database,
  { job, lease }: RunId,
  { source, keptFolders }: { source: number; keptFolders: readonly number[] },
  failure: { least: number; reason: Reason; message: string; room: number; full: NewFailure | null },
): Promise<number | null> {
  const { least, reason, message, full } = failure
  const room = Math.max(1, failure.room)
  return db.transaction().execute(async tx => {
    const { rows } = await sql<{ missing: number }>`
      with missing as (
        select id, row_number() over (order by id) > ${room} as is_unlisted from job_entries
        where job_id = ${job.id} and state = 'LISTED' and reason is null and not is_started
          and finding->>'kind' = 'MISSING' and (finding->>'source')::int = ${source}
      ), counted as (
        select count(*)::int as missing from missing having count(*) >= ${least}
      ), job as (
        update jobs set failed = failed + counted.missing from counted
        where jobs.id = ${job.id} and jobs.lease_id = ${lease} and counted.missing * 2 > (
          select max(kept.files) from (
            select count(*) as files from kept_files
            where kept_folder = any(${keptFolders}::integer[]) and not is_deleted group by kept_folder
          ) as kept)
        returning jobs.id, counted.missing
      ), failed as (
        update job_entries set state = 'KEPT', reason = ${reason}, message = ${message} from job
        where job_entries.job_id = job.id and job_entries.id in (select id from missing where not is_unlisted)
      ), unlisted as (
        delete from job_entries using job
        where job_entries.job_id = job.id and job_entries.id in (select id from missing where is_unlisted)
      )
      select missing from job`.execute(tx)
    const [counted] = rows
    if (!counted) return null
    if (full && counted.missing > room) {
      await insertEntries(tx, job.id, [full])
      await sql`update jobs set failed = failed + 1 where id = ${job.id}`.execute(tx)
    }
    return counted.missing
  })
}

/** Returns the numbers of the sources whose missing files a KEEP_COPIES has not restored, because most were missing. */
export async function sourcesLeftMissing(db: Database, jobId: string): Promise<number[]> {
  const { rows } = await sql<{ source: number }>`
    select distinct (finding->>'source')::int as source from job_entries
    where job_id = ${jobId} and state = 'KEPT' and reason = 'PRECONDITION_FAILED' and finding->>'kind' = 'MISSING'`.execute(
    db,
  )
  return rows.map(({ source }) => source)
}

/** Counts the files that a VERIFY has found damaged or missing. */
export async function countDamage(db: Database, jobId: string): Promise<{ damaged: number; missing: number }> {
  const { rows } = await sql<{ damaged: number; missing: number }>`
    select count(*) filter (where reason = 'DAMAGED')::int as damaged, count(*) filter (where reason = 'NOT_FOUND')::int as missing
    from job_entries where job_id = ${jobId} and reason is not null`.execute(db)
  return rows[0] ?? { damaged: 0, missing: 0 }
}
