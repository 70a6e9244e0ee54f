/** A lease lets one server at a time run a job. After a server is killed, another one continues within `leaseSeconds`. */
import { type SqlBool, sql } from 'kysely'
import type { Reason } from '../../errors.ts'
import type { Database } from '../client.ts'
import type { JobState } from '../schema.ts'
import { type JobRecord, toJob } from './record.ts'

const leaseSeconds = 10
const leaseEnd = sql<Date>`now() + make_interval(secs => ${leaseSeconds})`

/** Takes the lease of the oldest job that waits, or whose server was killed. */
export async function takeJob(db: Database, lease: string): Promise<JobRecord | null> {
  const row = await db
    .updateTable('jobs')
    .set({
      lease_id: lease,
      lease_until: leaseEnd,
      state: 'RUNNING',
      started_at: sql`coalesce(started_at, now())`,
    })
    .where('id', '=', ({ selectFrom }) =>
      selectFrom('jobs')
        .select('id')
        .where(sql<SqlBool>`state = 'QUEUED' or (state = 'RUNNING' and lease_until < now())`)
        .where('state', 'in', ['QUEUED', 'RUNNING'])
        .orderBy('id')
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returningAll()
    .executeTakeFirst()
  return row ? toJob(row) : null
}

export interface Totals {
  files: number
  bytes: number
}

/**
 * Renews a lease and stores the progress, so that others see it. Returns the pending request, or null if the lease is
 * lost.
 */
export async function renewJob(
  db: Database,
  id: string,
  lease: string,
  { bytesPerSecond, totals }: { bytesPerSecond: number; totals: Totals | null },
): Promise<{ requested: 'PAUSE' | 'CANCEL' | null } | null> {
  const row = await db
    .updateTable('jobs')
    .set({
      lease_until: leaseEnd,
      bytes_per_second: bytesPerSecond,
      ...(totals && { total_files: totals.files, total_bytes: totals.bytes }),
    })
    .where('id', '=', id)
    .where('lease_id', '=', lease)
    .returning('requested')
    .executeTakeFirst()
  return row ?? null
}

/** Ends a run. Nothing happens if the lease is lost. */
export async function endRun(
  db: Database,
  id: string,
  lease: string,
  { state, error }: { state: JobState; error: { reason: Reason; message: string } | null },
): Promise<boolean> {
  const isFinal = state !== 'PAUSED' && state !== 'QUEUED'
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set({
      state,
      requested: null,
      lease_id: null,
      lease_until: null,
      bytes_per_second: 0,
      error_reason: error?.reason ?? null,
      error_message: error?.message ?? null,
      ...(isFinal && { ended_at: sql<Date>`now()` }),
    })
    .where('id', '=', id)
    .where('lease_id', '=', lease)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns whether a part of the job has failed. */
export async function hasFailed(db: Database, id: string): Promise<boolean> {
  const row = await db.selectFrom('jobs').select('failed').where('id', '=', id).executeTakeFirst()
  return Number(row?.failed) > 0
}
