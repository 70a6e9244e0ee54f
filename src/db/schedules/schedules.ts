/** Schedules as people see and change them. */
import type { Change, Database } from '../client.ts'
import { creatorColumns } from '../creator.ts'
import { lockMember } from '../members.ts'
import { type ScheduleRecord, toSchedule } from './record.ts'

export type NewSchedule = Omit<ScheduleRecord, 'error' | 'lastJobId' | 'lastSkippedAt' | 'createdAt'>

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
  page: { limit: number; before: string | null },
): Promise<ScheduleRecord[]> {
  let query = db.selectFrom('schedules').selectAll().where('workspace_id', '=', workspaceId)
  if (userId !== null) query = query.where('user_id', '=', userId)
  if (page.before !== null) query = query.where('id', '<', page.before)
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
