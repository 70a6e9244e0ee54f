/**
 * The tables of jobs. New jobs, their progress and the results of their entries enter. Jobs leave to people, and under a lease
 * (`leases.ts`) to the server that runs them.
 *
 * This file has jobs as people see and control them, and as subscribers follow them.
 */
import { type Selectable, type SqlBool, sql } from 'kysely'
import type { Reason } from '../../errors.ts'
import type { Change, Database } from '../client.ts'
import { type Creator, creatorColumns, toCreator } from '../creator.ts'
import { lockMember } from '../members.ts'
import type {
  CopyKeeping,
  JobConflict,
  JobKind,
  JobOutcome,
  JobState,
  JobTarget,
  LocationCheck,
  Schema,
  StoredLocation,
} from '../schema.ts'
import { sourcesLeftMissing } from './failures.ts'

export interface JobRecord extends Creator {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  /** The client's address and the id of the request that created the job. */
  address: string
  requestId: string
  kind: JobKind
  state: JobState
  sources: StoredLocation[]
  /** The folder that the sources go into; null unless the kind is COPY, MOVE or SYNC. */
  target: JobTarget | null
  conflict: JobConflict
  /** True if SYNC deletes entries that exist only at the target, and RESTORE files that were created since the time. */
  deleteExtra: boolean
  /** True if the job only counts and changes nothing. */
  dryRun: boolean
  /** True if a DELETE or a SYNC deletes for good, without the trash. */
  permanent: boolean
  /** The time whose state a RESTORE brings back; null for other kinds. */
  restoreAt: Date | null
  /** Null unless the kind is KEEP_COPIES, whose first source is the original. */
  keeping: CopyKeeping | null
  /** The results of a KEEP_COPIES at each source; null before its first step. */
  checks: readonly LocationCheck[] | null
  /** A mutation waits for the job. It stops at the first failure, and then undoes what it has copied. */
  isAtomic: boolean
  /** The decision of an atomic COPY or MOVE about its copies; null until everything is copied or something has failed. */
  outcome: JobOutcome | null
  progress: JobProgress
  /** The member who canceled the job; null for others. */
  canceledBy: string | null
  /** The reason why the whole job failed. */
  error: { reason: Reason; message: string } | null
  createdAt: Date
  startedAt: Date | null
  endedAt: Date | null
}

/** Counts of files, and bytes. */
export interface JobProgress {
  /** Files that are done, and their bytes. */
  files: number
  bytes: number
  /** Files that were not written, because the conflict policy said so or both sides have the same content. */
  skipped: number
  deleted: number
  failed: number
  /** Null until everything is counted. */
  totalFiles: number | null
  totalBytes: number | null
  bytesPerSecond: number
}

export function toJob(row: Selectable<Schema['jobs']>): JobRecord {
  const [files, bytes] = [Number(row.files) + Number(row.pending_files), Number(row.bytes) + Number(row.pending_bytes)]
  const skipped = Number(row.skipped)
  return {
    id: row.id,
    ...toCreator(row),
    address: row.address,
    requestId: row.request_id,
    kind: row.kind,
    state: row.state,
    sources: row.sources,
    target: row.target,
    conflict: row.conflict,
    deleteExtra: row.delete_extra,
    dryRun: row.dry_run,
    permanent: row.permanent,
    restoreAt: row.restore_at,
    keeping: row.keeping,
    checks: row.checks,
    isAtomic: row.is_atomic,
    outcome: row.outcome,
    progress: {
      files,
      bytes,
      skipped,
      deleted: Number(row.deleted),
      failed: Number(row.failed),
      // Files may have been added, or moved away, while the job counted them.
      totalFiles: row.total_files === null ? null : Math.max(Number(row.total_files), files + skipped),
      totalBytes: row.total_bytes === null ? null : Math.max(Number(row.total_bytes), bytes),
      bytesPerSecond: row.bytes_per_second,
    },
    canceledBy: row.canceled_by,
    error: row.error_reason === null ? null : { reason: row.error_reason, message: row.error_message ?? '' },
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
}

type NewJob = Pick<
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
> &
  Partial<Pick<JobRecord, 'restoreAt' | 'keeping'>>

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
      restore_at: job.restoreAt ?? null,
      keeping: job.keeping ? JSON.stringify(job.keeping) : null,
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
export async function requestOfJob(
  db: Change,
  id: string,
  request: 'PAUSE' | 'CANCEL',
  userId: string,
): Promise<JobRecord | null> {
  const row = await db
    .updateTable('jobs')
    .set({
      canceled_by: sql`case when ${request}::text = 'CANCEL' then coalesce(canceled_by, ${userId}::uuid) else canceled_by end`,
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
 * @param options.isRestart whether the job begins again with all of its sources, so that it counts from zero. Call it before its entries are
 * deleted
 */
export async function queueAfterEnd(
  db: Change,
  job: JobRecord,
  { isRestart }: { isRestart: boolean },
): Promise<JobRecord | null> {
  const { keeping } = job
  // Without a restart, the entries themselves say what a retry restores.
  const restoresMost = keeping && isRestart ? await sourcesLeftMissing(db, job.id) : []
  const row = await db
    .updateTable('jobs')
    .set({
      state: 'QUEUED',
      requested: null,
      canceled_by: null,
      ended_at: null,
      error_reason: null,
      error_message: null,
      failed: zero,
      ...(keeping && { keeping: JSON.stringify({ ...keeping, restoresMost } satisfies CopyKeeping) }),
      ...(isRestart && {
        files: zero,
        bytes: zero,
        skipped: zero,
        deleted: zero,
        outcome: null,
        total_files: null,
        total_bytes: null,
        checks: null,
      }),
    })
    .where('id', '=', job.id)
    .where('state', 'in', ['FAILED', 'CANCELED', 'SUCCEEDED'])
    .returningAll()
    .executeTakeFirst()
  return row ? toJob(row) : null
}

/** Deletes up to `limit` jobs that ended more than `days`, or for KEEP_COPIES `reportDays`, ago. Returns how many it deleted. */
export async function deleteJobsEndedBefore(
  db: Database,
  { days, reportDays }: { days: number; reportDays: number },
  limit: number,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('jobs')
    .where('id', 'in', ({ selectFrom }) =>
      selectFrom('jobs')
        .select('id')
        .where('ended_at', '<', sql<Date>`now() - make_interval(days => ${days})`)
        .where(sql<SqlBool>`(kind <> 'KEEP_COPIES' or ended_at < now() - make_interval(days => ${reportDays}))`)
        .limit(limit),
    )
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** The channel of the notifications. A payload is the id of a job that was created or has changed. */
export const jobChannel = 'stowage_jobs'

/** Minutes that a job counts as current after its end. */
const currentMinutes = 15

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
