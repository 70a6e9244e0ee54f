/** The end of atomic jobs: they keep all of their copies or none. */
import { sql } from 'kysely'
import type { Database } from '../client.ts'
import type { JobOutcome } from '../schema.ts'
import { type JobEntry, LeaseLost, type RunId, toEntry } from './entries.ts'

/**
 * Decides once what a job does with its copies: it undoes them if anything has failed. A decision stays even if a later
 * step of the job fails. @throws LeaseLost
 */
export async function decideOutcome(db: Database, { job: { id }, lease }: RunId): Promise<JobOutcome> {
  const { rows } = await sql<{ outcome: JobOutcome }>`
    update jobs set outcome = coalesce(outcome, case when failed > 0 then 'UNDO' else 'KEEP' end)
    where id = ${id} and lease_id = ${lease} returning outcome`.execute(db)
  if (!rows[0]) throw new LeaseLost(`Another server runs the job ${id}`)
  return rows[0].outcome
}

/** Returns copied files. */
export async function nextCopied(db: Database, jobId: string, limit: number): Promise<JobEntry[]> {
  const rows = await db
    .selectFrom('job_entries')
    .selectAll()
    .where('job_id', '=', jobId)
    .where('state', '=', 'COPIED')
    .where('reason', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toEntry)
}

/** Lets a retry delete the folders that were not empty before. */
export async function listKeptFolders(db: Database, jobId: string): Promise<void> {
  await sql`update job_entries set state = 'LISTED' where job_id = ${jobId} and state = 'FOLDER' and reason is null`.execute(
    db,
  )
}

/** Makes all folders that the job has created at the target listed ones, so that `deepestListed` returns them. */
export async function listNewFolders(db: Database, jobId: string): Promise<void> {
  await db.transaction().execute(async tx => {
    await sql`
      insert into job_entries (job_id, state, provider_id, path, target_path, depth, is_new_target)
        select job_id, 'LISTED', provider_id, path, target_path, depth, true from job_entries
        where job_id = ${jobId} and state = 'FOLDER' and is_new_target`.execute(tx)
    // Failures stay, to be shown.
    await sql`delete from job_entries where job_id = ${jobId} and state <> 'LISTED' and state <> 'COPIED'
      and reason is null`.execute(tx)
    await sql`update job_entries set is_new_target = false where job_id = ${jobId} and state = 'FOLDER'`.execute(tx)
  })
}

/** Resets the counts of a job that has undone everything. @throws LeaseLost */
export async function forgetCounts(db: Database, { job: { id }, lease }: RunId): Promise<void> {
  const { rows } = await sql`
    update jobs set files = 0, bytes = 0 where id = ${id} and lease_id = ${lease} returning id`.execute(db)
  if (rows.length === 0) throw new LeaseLost(`Another server runs the job ${id}`)
}
