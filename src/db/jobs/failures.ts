/** The entries that a job could not process, which stay in the database so that a retry works on all of them, and what a job reports. */
import { sql } from 'kysely'
import type { Reason } from '../../errors.ts'
import type { Database } from '../client.ts'
import { type JobEntry, toEntry } from './entries.ts'

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
 * in its report.
 */
export async function retryEntries(db: Database, jobId: string): Promise<void> {
  await sql`
    update job_entries set reason = null, message = null, has_failed = false, is_started = true,
      state = case when state = 'KEPT' then 'LISTED' else state end
    where job_id = ${jobId} and (reason is not null or (state = 'KEPT' and finding is null))`.execute(db)
}

/** What a KEEP_COPIES has found. */
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

/** Counts the files that a VERIFY has found damaged or missing. */
export async function countDamage(db: Database, jobId: string): Promise<{ damaged: number; missing: number }> {
  const { rows } = await sql<{ damaged: number; missing: number }>`
    select count(*) filter (where reason = 'DAMAGED')::int as damaged, count(*) filter (where reason = 'NOT_FOUND')::int as missing
    from job_entries where job_id = ${jobId} and reason is not null`.execute(db)
  return rows[0] ?? { damaged: 0, missing: 0 }
}
