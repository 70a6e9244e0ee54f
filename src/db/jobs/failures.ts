import type { Reason } from '../../errors.ts'
import type { Database } from '../client.ts'
import type { JobEntryState } from '../schema.ts'

export interface JobFailure {
  id: string
  /** The entry that a retry has to work on. */
  state: JobEntryState
  providerId: string
  path: string
  targetPath: string | null
  depth: number
  reason: Reason
  message: string
}

export type NewFailure = Omit<JobFailure, 'id'>

/**
 * The maximum number of failures of one job to store. The job only counts further failures, and a retry then starts the
 * whole job again.
 */
export const maxFailures = 1000

export async function insertFailures(db: Database, jobId: string, failures: readonly NewFailure[]): Promise<void> {
  if (failures.length === 0) return
  const { count } = await db
    .selectFrom('job_failures')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('job_id', '=', jobId)
    .executeTakeFirstOrThrow()
  const kept = failures.slice(0, Math.max(0, maxFailures - Number(count)))
  if (kept.length === 0) return
  await db
    .insertInto('job_failures')
    .values(
      kept.map(failure => ({
        job_id: jobId,
        state: failure.state,
        provider_id: failure.providerId,
        path: failure.path,
        target_path: failure.targetPath,
        depth: failure.depth,
        reason: failure.reason,
        message: failure.message,
      })),
    )
    .execute()
}

/** Returns failures in their order, starting after the id `after`. */
export async function listFailures(
  db: Database,
  jobId: string,
  page: { limit: number; after: string | null },
): Promise<JobFailure[]> {
  let query = db.selectFrom('job_failures').selectAll().where('job_id', '=', jobId)
  if (page.after !== null) query = query.where('id', '>', page.after)
  const rows = await query.orderBy('id').limit(page.limit).execute()
  return rows.map(row => ({
    id: row.id,
    state: row.state,
    providerId: row.provider_id,
    path: row.path,
    targetPath: row.target_path,
    depth: row.depth,
    reason: row.reason,
    message: row.message,
  }))
}

export async function deleteFailures(db: Database, jobId: string): Promise<void> {
  await db.deleteFrom('job_failures').where('job_id', '=', jobId).execute()
}
