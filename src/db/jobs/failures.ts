import { sql } from 'kysely'
import type { Reason } from '../../errors.ts'
import type { Database } from '../client.ts'

export interface JobFailure {
  id: string
  providerId: string
  path: string
  targetPath: string | null
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
  const { rows } = await sql<{ count: string }>`select count(*) from job_failures where job_id = ${jobId}`.execute(db)
  const kept = failures.slice(0, Math.max(0, maxFailures - Number(rows[0]?.count)))
  if (kept.length === 0) return
  await db
    .insertInto('job_failures')
    .values(
      kept.map(failure => ({
        job_id: jobId,
        provider_id: failure.providerId,
        path: failure.path,
        target_path: failure.targetPath,
        reason: failure.reason,
        message: failure.message,
      })),
    )
    .execute()
}

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
    providerId: row.provider_id,
    path: row.path,
    targetPath: row.target_path,
    reason: row.reason,
    message: row.message,
  }))
}

export async function deleteFailures(db: Database, jobId: string): Promise<void> {
  await db.deleteFrom('job_failures').where('job_id', '=', jobId).execute()
}
