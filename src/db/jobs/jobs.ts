/** Jobs as people see and control them. */
import { type SqlBool, sql } from 'kysely'
import type { Change, Database } from '../client.ts'
import { creatorColumns } from '../creator.ts'
import { lockMember } from '../members.ts'
import { type JobRecord, toJob } from './record.ts'

export type NewJob = Pick<
  JobRecord,
  | 'id'
  | 'workspaceId'
  | 'userId'
  | 'credentialKind'
  | 'credentialId'
  | 'address'
  | 'requestId'
  | 'kind'
  | 'sources'
  | 'target'
  | 'conflict'
  | 'deleteExtra'
  | 'dryRun'
  | 'permanent'
  | 'isAtomic'
>

/** The types allow no other assignment, because all other changes add to the counts. */
const zero = sql`0` as never
const isActive = sql<SqlBool>`state in ('QUEUED', 'RUNNING', 'PAUSED')`

export async function insertJob(db: Change, job: NewJob): Promise<JobRecord> {
  const row = await db
    .insertInto('jobs')
    .values({
      id: job.id,
      ...creatorColumns(job),
      address: job.address,
      request_id: job.requestId,
      kind: job.kind,
      sources: JSON.stringify(job.sources),
      target: job.target && JSON.stringify(job.target),
      conflict: job.conflict,
      delete_extra: job.deleteExtra,
      dry_run: job.dryRun,
      permanent: job.permanent,
      is_atomic: job.isAtomic,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toJob(row)
}

/** Counts the jobs of a member that have not ended. Other transactions that count them wait until this one ends. */
export async function countActive(db: Change, owner: Pick<JobRecord, 'workspaceId' | 'userId'>): Promise<number> {
  await lockMember(db, owner)
  const { count } = await db
    .selectFrom('jobs')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('workspace_id', '=', owner.workspaceId)
    .where('user_id', '=', owner.userId)
    .where(isActive)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function findJob(db: Database, workspaceId: string, id: string): Promise<JobRecord | null> {
  const row = await db
    .selectFrom('jobs')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ? toJob(row) : null
}

/** Returns the jobs with these ids that exist, in no particular order. */
export async function findJobs(db: Database, ids: readonly string[]): Promise<JobRecord[]> {
  if (ids.length === 0) return []
  return (await db.selectFrom('jobs').selectAll().where('id', 'in', ids).execute()).map(toJob)
}

/** Returns the newest jobs first. @param userId null for the jobs of all users */
export async function listJobs(
  db: Database,
  { workspaceId, userId, state }: { workspaceId: string; userId: string | null; state: JobRecord['state'] | null },
  page: { limit: number; before: string | null },
): Promise<JobRecord[]> {
  let query = db.selectFrom('jobs').selectAll().where('workspace_id', '=', workspaceId)
  if (userId !== null) query = query.where('user_id', '=', userId)
  if (state !== null) query = query.where('state', '=', state)
  if (page.before !== null) query = query.where('id', '<', page.before)
  const rows = await query.orderBy('id', 'desc').limit(page.limit).execute()
  return rows.map(toJob)
}

/**
 * Requests a pause or a cancellation of a running job, and carries it out at once for any other job. Returns null if it
 * has ended.
 */
export async function requestOfJob(db: Change, id: string, request: 'PAUSE' | 'CANCEL'): Promise<JobRecord | null> {
  const row = await db
    .updateTable('jobs')
    .set({
      requested: sql`case
        when state <> 'RUNNING' then null
        when requested = 'CANCEL' then requested
        else ${request}::text end`,
      state: sql`case
        when state = 'RUNNING' then state
        when ${request}::text = 'PAUSE' then 'PAUSED'
        else 'CANCELED' end`,
      ended_at: sql`case when state <> 'RUNNING' and ${request}::text = 'CANCEL' then now() end`,
    })
    .where('id', '=', id)
    .where(isActive)
    .returningAll()
    .executeTakeFirst()
  return row ? toJob(row) : null
}

/** Queues a paused job again, and takes back the request to pause a running one. Returns null if it has ended. */
export async function queueAgain(db: Change, id: string): Promise<JobRecord | null> {
  const row = await db
    .updateTable('jobs')
    .set({ requested: null, state: sql`case when state = 'PAUSED' then 'QUEUED' else state end` })
    .where('id', '=', id)
    .where(isActive)
    .where(sql<SqlBool>`requested is distinct from 'CANCEL'`)
    .returningAll()
    .executeTakeFirst()
  return row ? toJob(row) : null
}

/**
 * Queues an ended job again. Returns null if it has not ended.
 * @param isWhole whether the job works on all of its sources again, so that it counts from zero
 */
export async function queueAfterEnd(
  db: Change,
  job: JobRecord,
  { isWhole }: { isWhole: boolean },
): Promise<JobRecord | null> {
  const row = await db
    .updateTable('jobs')
    .set({
      state: 'QUEUED',
      requested: null,
      ended_at: null,
      error_reason: null,
      error_message: null,
      failed: zero,
      ...(isWhole && {
        files: zero,
        bytes: zero,
        skipped: zero,
        deleted: zero,
        outcome: null,
        total_files: null,
        total_bytes: null,
      }),
    })
    .where('id', '=', job.id)
    .where('state', 'in', ['FAILED', 'CANCELED', 'SUCCEEDED'])
    .returningAll()
    .executeTakeFirst()
  return row ? toJob(row) : null
}

/** Deletes up to `limit` jobs that ended more than `days` ago. Returns how many it deleted. */
export async function deleteJobsEndedBefore(db: Database, days: number, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('jobs')
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('jobs')
        .select('id')
        .where('ended_at', '<', sql<Date>`now() - make_interval(days => ${days})`)
        .limit(limit),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}
