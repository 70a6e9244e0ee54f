/**
 * A claim lets one server at a time decide about a due run. The run starts in the transaction that also advances the
 * schedule, and only if the claim still holds.
 */
import { type SqlBool, sql } from 'kysely'
import type { Change, Database } from '../client.ts'
import { type ScheduleRecord, toSchedule } from './record.ts'

/** Seconds after which another server decides about the run. */
const claimSeconds = 30

const isDue = sql<SqlBool>`next_run_at <= now() and (claimed_until is null or claimed_until < now())`

/** Returns whether a run is due. Reads only, because every server asks every few seconds. */
export async function isAnyDue(db: Database): Promise<boolean> {
  const row = await db.selectFrom('schedules').select('id').where(isDue).limit(1).executeTakeFirst()
  return row !== undefined
}

export interface DueSchedule extends ScheduleRecord {
  /** The time of the database. */
  now: Date
}

/** Claims the schedule whose run has been due for the longest time. */
export async function claimDue(db: Database, claim: string): Promise<DueSchedule | null> {
  const row = await db
    .updateTable('schedules')
    .set({ claim_id: claim, claimed_until: sql<Date>`now() + make_interval(secs => ${claimSeconds})` })
    .where('id', '=', ({ selectFrom }) =>
      selectFrom('schedules').select('id').where(isDue).orderBy('next_run_at').limit(1).forUpdate().skipLocked(),
    )
    .returningAll()
    .returning(sql<Date>`now()`.as('now'))
    .executeTakeFirst()
  return row ? { ...toSchedule(row), now: row.now } : null
}

/** The result of a due run. */
export type RunOutcome =
  | { kind: 'started'; jobId: string; nextRunAt: Date | null }
  | { kind: 'skipped'; nextRunAt: Date | null }
  | { kind: 'disabled'; error: NonNullable<ScheduleRecord['error']> }

/** Ends a claim. Returns false and changes nothing if somebody changed the schedule, or another server has claimed it. */
export async function settleRun(db: Database, id: string, claim: string, outcome: RunOutcome): Promise<boolean> {
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
    .where('claim_id', '=', claim)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Stores the job of a run that somebody has started. A server that is about to start a run then gives up. Returns false if
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
