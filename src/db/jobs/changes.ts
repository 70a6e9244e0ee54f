/** Queries for the subscribers of jobs. */
import { type SqlBool, sql } from 'kysely'
import type { Database } from '../client.ts'
import { type JobRecord, toJob } from './record.ts'

/** The channel of the notifications. A payload is the id of a job that was created or has changed. */
export const jobChannel = 'stowage_jobs'

/** Minutes that a job counts as current after its end. */
export const currentMinutes = 15

export interface JobOwners {
  workspaceIds: string[]
  /** Null for everybody. */
  userIds: string[] | null
}

/** Returns the jobs that have not ended, or have ended in the last minutes; the newest first. */
export async function listCurrentJobs(
  db: Database,
  { workspaceIds, userIds }: JobOwners,
  page: { limit: number; before: string | null },
): Promise<JobRecord[]> {
  if (workspaceIds.length === 0 || userIds?.length === 0) return []
  let query = db.selectFrom('jobs').selectAll().where('workspace_id', 'in', workspaceIds)
  if (userIds) query = query.where('user_id', 'in', userIds)
  if (page.before !== null) query = query.where('id', '<', page.before)
  const rows = await query
    .where(
      sql<SqlBool>`(state in ('QUEUED', 'RUNNING', 'PAUSED') or ended_at > now() - make_interval(mins => ${currentMinutes}))`,
    )
    .orderBy('id', 'desc')
    .limit(page.limit)
    .execute()
  return rows.map(toJob)
}
