import type { Selectable } from 'kysely'
import type { Reason } from '../../errors.ts'
import { type Creator, toCreator } from '../creator.ts'
import type { ScheduledJob, Schema } from '../schema.ts'

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

export function toSchedule(row: Selectable<Schema['schedules']>): ScheduleRecord {
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
