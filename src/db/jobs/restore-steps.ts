/** The steps that a RESTORE has found. */
import { sql } from 'kysely'
import type { Database } from '../client.ts'
import { type JobEntry, listedByDepth, toEntry } from './entries.ts'

/** Records that the work on several entries begins. */
export async function markAllStarted(db: Database, jobId: string, ids: readonly string[]): Promise<void> {
  await sql`update job_entries set is_started = true where job_id = ${jobId} and id = any(${ids}::bigint[])`.execute(db)
}

/** Returns the steps of a RESTORE that are left at the smallest depth. */
export async function shallowestListed(db: Database, jobId: string, limit: number): Promise<JobEntry[]> {
  const entries = await listedByDepth(db, jobId, 'asc', limit)
  return entries.filter(({ depth }) => depth === entries[0]?.depth)
}

/** Returns what a dry run of a RESTORE has found, starting after the id `after`. */
export async function listRestoreSteps(
  db: Database,
  jobId: string,
  page: { limit: number; after: string | null },
): Promise<JobEntry[]> {
  let query = db.selectFrom('job_entries').selectAll().where('job_id', '=', jobId)
  if (page.after !== null) query = query.where('id', '>', page.after)
  const rows = await query
    .where('state', '=', 'KEPT')
    .where('restores', 'is not', null)
    .orderBy('id')
    .limit(page.limit)
    .execute()
  return rows.map(toEntry)
}
