/** A lease lets one server at a time run a job. After a server is killed, another one continues within `leaseSeconds`. */
import { type Selectable, type SqlBool, sql } from 'kysely'
import type { Reason } from '../../errors.ts'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from '../claims.ts'
import type { Change, Database } from '../client.ts'
import type { JobState, Schema } from '../schema.ts'
import { type JobRecord, toJob } from './jobs.ts'

const leaseSeconds = 15
const leaseEnd = secondsFromNow(leaseSeconds)
/** Seconds that a job runs before it makes room for a job of another member. */
const turnSeconds = 10

/** Counts the running jobs of the member who has the job in the row `job`. */
const runningOf = (job: 'waiting' | 'jobs') => sql<number>`(
  select count(*) from jobs as other where other.workspace_id = ${sql.ref(job)}.workspace_id
    and other.user_id = ${sql.ref(job)}.user_id and other.state = 'RUNNING' and other.lease_until >= now())`

/** Matches a row `waiting` that a server may take: a job in the queue, or one whose server was killed. */
const isTakable = sql<SqlBool>`(waiting.state in ('QUEUED', 'RUNNING') and waiting.requested is null
  and (waiting.state = 'QUEUED' or waiting.lease_until < now()))`

/** Whether the job has had its turn and another member, who has fewer running jobs, waits. */
const isTurnOver = sql<boolean>`case when jobs.taken_at < now() - make_interval(secs => ${turnSeconds}) then exists (
  select from jobs as waiting where ${isTakable}
    and (waiting.workspace_id, waiting.user_id) <> (jobs.workspace_id, jobs.user_id)
    and ${runningOf('waiting')} < ${runningOf('jobs')}) else false end`

/**
 * The files of a MOVE that a step has moved are gone from the source, even if the step did not finish. An atomic one deletes
 * no source before everything is copied.
 */
const isPendingDone = sql`kind = 'MOVE' and not is_atomic`
const countedFiles = sql`files + case when ${isPendingDone} then pending_files else 0 end`
const countedBytes = sql`bytes + case when ${isPendingDone} then pending_bytes else 0 end`

/** Returns whether there is work for `endAbandoned` or `takeJob`. */
export function isAnyWaiting(db: Database): Promise<boolean> {
  return isAnyDue(
    db,
    'jobs',
    sql`waiting.state = 'QUEUED' or (waiting.state = 'RUNNING' and waiting.lease_until < now())`,
  )
}

/** Returns the number of jobs in each state, except those that have ended. */
export async function countUnended(db: Database): Promise<Map<JobState, number>> {
  const rows = await db
    .selectFrom('jobs')
    .select(({ fn }) => ['state', fn.countAll<string>().as('count')])
    .where('state', 'in', ['QUEUED', 'RUNNING', 'PAUSED'])
    .groupBy('state')
    .execute()
  return new Map(rows.map(({ state, count }) => [state, Number(count)]))
}

/** Carries out the requests to pause or cancel that a killed server left. Returns the jobs. */
export async function endAbandoned(db: Change): Promise<JobRecord[]> {
  const { rows } = await sql<Selectable<Schema['jobs']>>`
    update jobs set state = case when requested = 'CANCEL' then 'CANCELED' else 'PAUSED' end,
      ended_at = case when requested = 'CANCEL' then now() end, requested = null, lease_id = null, lease_until = null
    where state = 'RUNNING' and requested is not null and lease_until < now() returning *`.execute(db)
  return rows.map(toJob)
}

/**
 * Takes the lease of a job that waits or whose server was killed. Members with fewer running jobs come first, then those whose
 * latest turn began earlier, then older jobs.
 * @param options.id takes this job or none
 * @param options.except takes no job of these users
 */
export async function takeJob(
  db: Database,
  lease: string,
  { id, except = [] }: { id?: string; except?: readonly string[] },
): Promise<JobRecord | null> {
  const isDue = sql<SqlBool>`${isTakable} and waiting.user_id <> all(${except}::uuid[])
    and ${id === undefined ? sql`true` : sql`waiting.id = ${id}`}`
  const latestTurn = sql`(select max(other.taken_at) from jobs as other
    where other.workspace_id = waiting.workspace_id and other.user_id = waiting.user_id)`
  const orderBy = sql`${runningOf('waiting')}, ${latestTurn} nulls first, waiting.id`
  const set = sql`lease_id = ${lease}, lease_until = ${leaseEnd}, state = 'RUNNING',
    files = ${countedFiles}, bytes = ${countedBytes}, pending_files = 0, pending_bytes = 0,
    started_at = coalesce(started_at, now()), taken_at = now()`
  const [row] = await claimRows(db, 'jobs', { dueKeys: dueRows('jobs', { isDue, orderBy }), set })
  return row ? toJob(row) : null
}

export interface Totals {
  files: number
  bytes: number
}

/**
 * Renews a lease and stores the progress, so that others see it. Returns the pending request and whether
 * the turn is over, or null if the lease is lost.
 */
export async function renewJob(
  db: Database,
  id: string,
  lease: string,
  { bytesPerSecond, totals, pending }: { bytesPerSecond: number; totals: Totals | null; pending: Totals },
): Promise<{ requested: 'PAUSE' | 'CANCEL' | null; isTurnOver: boolean } | null> {
  const row = await db
    .updateTable('jobs')
    .set({
      lease_until: leaseEnd,
      bytes_per_second: bytesPerSecond,
      pending_files: pending.files,
      pending_bytes: pending.bytes,
      total_files: totals?.files ?? null,
      total_bytes: totals?.bytes ?? null,
    })
    .where('id', '=', id)
    .where('lease_id', '=', lease)
    .returning(['requested', isTurnOver.as('isTurnOver')])
    .executeTakeFirst()
  return row ?? null
}

/**
 * Ends a run. A request that the run did not see wins over a state that is not final.
 * @returns the job as it is then, or null if the lease is lost
 */
export async function endRun(
  db: Change,
  id: string,
  lease: string,
  { state, error }: { state: JobState; error: { reason: Reason; message: string } | null },
): Promise<JobRecord | null> {
  const { rows } = await sql<Selectable<Schema['jobs']>>`
    with ended as (
      select id, case
        when ${state}::text not in ('PAUSED', 'QUEUED') then ${state}::text
        when requested = 'CANCEL' then 'CANCELED'
        when requested = 'PAUSE' then 'PAUSED'
        -- The request to pause was withdrawn.
        else 'QUEUED' end as state
      from jobs where id = ${id} and lease_id = ${lease} for update
    )
    update jobs set state = ended.state, requested = null, lease_id = null, lease_until = null, bytes_per_second = 0,
      files = ${countedFiles}, bytes = ${countedBytes}, pending_files = 0, pending_bytes = 0,
      error_reason = ${error?.reason ?? null}, error_message = ${error?.message ?? null},
      ended_at = case when ended.state not in ('PAUSED', 'QUEUED') then now() end
    from ended where jobs.id = ended.id returning jobs.*`.execute(db)
  return rows[0] ? toJob(rows[0]) : null
}

/** Returns whether a part of the job has failed. */
export async function hasFailed(db: Database, id: string): Promise<boolean> {
  const row = await db.selectFrom('jobs').select('failed').where('id', '=', id).executeTakeFirst()
  return Number(row?.failed) > 0
}

/** The limits of a provider, and the number of jobs that share them now. */
interface SharedLimits {
  filesAtOnce: number
  /** Null is no limit. */
  bytesPerSecond: number | null
  /** The running jobs of all servers that have the provider as a source or as the target. */
  jobs: number
}

/** Finds the limits of providers that exist. Reads only, because every running job asks each second. */
export async function findSharedLimits(
  db: Database,
  providerIds: readonly string[],
): Promise<ReadonlyMap<string, SharedLimits>> {
  const { rows } = await sql<{ id: string; files: number; bytes: string | null; jobs: number }>`
    select id, job_files_at_once as files, job_bytes_per_second as bytes,
      (select count(*)::int from jobs
        where jobs.workspace_id = providers.workspace_id and state = 'RUNNING' and lease_until > now()
          and (sources @> jsonb_build_array(jsonb_build_object('providerId', providers.id))
            or target ->> 'providerId' = providers.id::text)) as jobs
    from providers where id = any(${providerIds}::uuid[])`.execute(db)
  return new Map(
    rows.map(({ id, files, bytes, jobs }) => [
      id,
      { filesAtOnce: files, bytesPerSecond: bytes === null ? null : Number(bytes), jobs },
    ]),
  )
}
