/**
 * Schedules as people see and change them, and as servers run them. A claim lets one server at a time decide about a due
 * run. The run starts in the transaction that also advances the schedule, and only if the claim still holds.
 */
import { type Selectable, type SqlBool, sql } from 'kysely'
import type { Reason } from '../errors.ts'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Change, Database } from './client.ts'
import { type Creator, creatorColumns, toCreator } from './creator.ts'
import { lockMember } from './members.ts'
import type { ScheduledJob, Schema } from './schema.ts'

export interface ScheduleRecord extends Creator {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  name: string
  cron: string
  /** An IANA time zone. */
  timeZone: string
  job: ScheduledJob
  /** Null if the schedule is disabled. */
  nextRunAt: Date | null
  /** The reason why the server has disabled the schedule. */
  error: { reason: Reason; message: string } | null
  /** The latest job, which may be deleted by now. */
  lastJobId: string | null
  /** When a run was last skipped. */
  lastSkippedAt: Date | null
  createdAt: Date
}

function toSchedule(row: Selectable<Schema['schedules']>): ScheduleRecord {
  return {
    id: row.id,
    ...toCreator(row),
    name: row.name,
    cron: row.cron,
    timeZone: row.time_zone,
    // Schedules of versions without a trash have no such property.
    job: { ...row.job, permanent: row.job.permanent ?? false },
    nextRunAt: row.next_run_at,
    error: row.error_reason === null ? null : { reason: row.error_reason, message: row.error_message ?? '' },
    lastJobId: row.last_job_id,
    lastSkippedAt: row.last_skipped_at,
    createdAt: row.created_at,
  }
}

type NewSchedule = Omit<ScheduleRecord, 'error' | 'lastJobId' | 'lastSkippedAt' | 'createdAt'>

/** Returns null and inserts nothing if the member already has `max` schedules. */
export async function insertSchedule(db: Change, schedule: NewSchedule, max: number): Promise<ScheduleRecord | null> {
  await lockMember(db, schedule)
  const { count } = await db
    .selectFrom('schedules')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('workspace_id', '=', schedule.workspaceId)
    .where('user_id', '=', schedule.userId)
    .executeTakeFirstOrThrow()
  if (Number(count) >= max) return null
  const row = await db
    .insertInto('schedules')
    .values({
      id: schedule.id,
      ...creatorColumns(schedule),
      name: schedule.name,
      cron: schedule.cron,
      time_zone: schedule.timeZone,
      job: JSON.stringify(schedule.job),
      next_run_at: schedule.nextRunAt,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toSchedule(row)
}

export async function findSchedule(db: Database, workspaceId: string, id: string): Promise<ScheduleRecord | null> {
  const row = await db
    .selectFrom('schedules')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ? toSchedule(row) : null
}

/** Returns the newest schedules first. @param userId null for the schedules of all users */
export async function listSchedules(
  db: Database,
  { workspaceId, userId }: { workspaceId: string; userId: string | null },
  page: { limit: number; before: string | null; kind: string | null },
): Promise<ScheduleRecord[]> {
  let query = db.selectFrom('schedules').selectAll().where('workspace_id', '=', workspaceId)
  if (userId !== null) query = query.where('user_id', '=', userId)
  if (page.before !== null) query = query.where('id', '<', page.before)
  if (page.kind !== null) query = query.where(sql<string>`job ->> 'kind'`, '=', page.kind)
  const rows = await query.orderBy('id', 'desc').limit(page.limit).execute()
  return rows.map(toSchedule)
}

/** Finds a schedule that nobody else changes until the end of the transaction. */
export async function lockSchedule(db: Change, id: string): Promise<ScheduleRecord | null> {
  const row = await db.selectFrom('schedules').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
  return row ? toSchedule(row) : null
}

/**
 * Changes the given properties of a schedule. After a change of `nextRunAt`, a server that is about to start a run of it gives
 * up. Returns null if it does not exist.
 */
export async function updateSchedule(
  db: Change,
  id: string,
  { name, cron, timeZone, nextRunAt }: Partial<Pick<ScheduleRecord, 'name' | 'cron' | 'timeZone' | 'nextRunAt'>>,
): Promise<ScheduleRecord | null> {
  const row = await db
    .updateTable('schedules')
    .set({
      // A statement without any column is not valid.
      id,
      // A column that is undefined keeps its value.
      name,
      cron,
      time_zone: timeZone,
      ...(nextRunAt !== undefined && { next_run_at: nextRunAt, claim_id: null, claimed_until: null }),
      ...(nextRunAt && { error_reason: null, error_message: null }),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row ? toSchedule(row) : null
}

export async function deleteSchedule(db: Change, id: string): Promise<void> {
  await db.deleteFrom('schedules').where('id', '=', id).execute()
}

/** Seconds after which another server decides about the run. */
const claimSeconds = 30

const isDue = sql<SqlBool>`waiting.next_run_at <= now()
  and (waiting.claimed_until is null or waiting.claimed_until < now())`

export function isAnyScheduleDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'schedules', isDue)
}

export interface DueSchedule extends ScheduleRecord {
  claimId: string
  /** The time of the database. */
  now: Date
}

/** Claims the schedule whose run has been due for the longest time. */
export async function claimSchedule(db: Database, claimId: string): Promise<DueSchedule | null> {
  const dueKeys = dueRows('schedules', { isDue, orderBy: sql`waiting.next_run_at` })
  const set = sql`claim_id = ${claimId}, claimed_until = ${secondsFromNow(claimSeconds)}`
  const [row] = await claimRows(db, 'schedules', { dueKeys, set })
  if (!row) return null
  const now = new Date(Number(row.claimed_until) - claimSeconds * 1000)
  return { ...toSchedule(row), claimId, now }
}

/** The result of a due run. */
type RunOutcome =
  | { kind: 'started'; jobId: string; nextRunAt: Date | null }
  | { kind: 'skipped'; nextRunAt: Date | null }
  | { kind: 'disabled'; error: NonNullable<ScheduleRecord['error']> }

/** Ends a claim. Returns false and changes nothing if somebody changed the schedule, or another server has claimed it. */
export async function settleRun(
  db: Database,
  { id, claimId }: Pick<DueSchedule, 'id' | 'claimId'>,
  outcome: RunOutcome,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('schedules')
    .set({
      claim_id: null,
      claimed_until: null,
      next_run_at: outcome.kind === 'disabled' ? null : outcome.nextRunAt,
      ...(outcome.kind === 'started' && { last_job_id: outcome.jobId }),
      ...(outcome.kind === 'skipped' && { last_skipped_at: sql<Date>`now()` }),
      ...(outcome.kind === 'disabled' && {
        error_reason: outcome.error.reason,
        error_message: outcome.error.message,
      }),
    })
    .where('id', '=', id)
    .where('claim_id', '=', claimId)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Stores the job of a run that somebody has started. A server that is about to start a run then does not start it. Returns false if
 * another job has started since `lastJobId`, or the schedule does not exist.
 */
export async function noteRun(
  db: Change,
  id: string,
  { jobId, lastJobId }: { jobId: string; lastJobId: string | null },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('schedules')
    .set({ last_job_id: jobId, claim_id: null, claimed_until: null })
    .where('id', '=', id)
    .where('last_job_id', 'is not distinct from', lastJobId)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
