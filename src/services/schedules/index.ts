/** Schedules: jobs that the server creates again and again. */

import { randomUUID } from 'node:crypto'
import { Cron } from 'croner'
import { isId, timeOrderedIds } from '../../auth/id.ts'
import { authorizeJob } from '../../auth/needs.ts'
import { isUnrestricted, requireScope } from '../../auth/policy.ts'
import { ownOrigin, type Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findJob, findJobs, type JobRecord } from '../../db/jobs/jobs.ts'
import { findMember } from '../../db/members.ts'
import {
  claimSchedule,
  type DueSchedule,
  deleteSchedule,
  findSchedule,
  insertSchedule,
  isAnyScheduleDue,
  listSchedules,
  lockSchedule,
  noteRun,
  type ScheduleRecord,
  settleRun,
  updateSchedule,
} from '../../db/schedules.ts'
import type { JobKind } from '../../db/schema.ts'
import { AppError, reasons } from '../../errors.ts'
import { startClaiming } from '../../lib/polling.ts'
import { cut, namedSources } from '../audit/event.ts'
import type { Audit, AuditFacts, Recording } from '../audit/index.ts'
import { asCreator, creatorOf } from '../creator.ts'
import { parseName, parsePageSize } from '../input.ts'
import { factsOf as jobFacts } from '../jobs/audit.ts'
import { isVisible } from '../jobs/feed.ts'
import type { Jobs, NewJobInput } from '../jobs/index.ts'
import { encodeIdCursor, visiblePage } from '../paging.ts'
import type { Credentials } from '../people/credentials.ts'

/** The maximum number of schedules of one member. */
export const maxSchedules = 100
export const maxSchedulesPage = 100

export interface NewScheduleInput {
  name: string
  cron: string
  timeZone: string
  job: NewJobInput
}

export interface ScheduleChanges {
  id: string
  name?: string | null | undefined
  cron?: string | null | undefined
  timeZone?: string | null | undefined
  enabled?: boolean | null | undefined
}

/** A schedule and its latest job, if that still exists and the viewer sees it. */
export interface Schedule extends ScheduleRecord {
  lastJob: JobRecord | null
}

export function createSchedules({
  db,
  audit,
  jobs,
}: {
  db: Database
  audit: Audit
  jobs: Pick<Jobs, 'check' | 'createIn'>
}) {
  const nextId = timeOrderedIds()

  async function withJobs(viewer: Viewer, schedules: readonly ScheduleRecord[]): Promise<Schedule[]> {
    const found = await findJobs(
      db,
      schedules.flatMap(({ lastJobId }) => lastJobId ?? []),
    )
    const byId = new Map(found.filter(job => isVisible(viewer, job)).map(job => [job.id, job]))
    return schedules.map(schedule => ({ ...schedule, lastJob: byId.get(schedule.lastJobId ?? '') ?? null }))
  }

  /** Finds a schedule that the viewer owns and whose jobs they may create. */
  async function find(viewer: Viewer | null, id: string): Promise<ScheduleRecord> {
    const { member } = requireScope(viewer, 'write')
    const schedule = isId(id) ? await findSchedule(db, member.workspaceId, id) : null
    if (!viewer || !schedule || !isVisible(viewer, { ...schedule, ...schedule.job })) throw notFound()
    authorizeJob(viewer, schedule.job)
    return schedule
  }

  /** Changes a schedule that the viewer owns and whose jobs they may create. */
  function change<T>(
    viewer: Viewer | null,
    action: 'SCHEDULE_UPDATE' | 'SCHEDULE_DELETE',
    id: string,
    work: (recording: Recording, schedule: ScheduleRecord) => Promise<T>,
  ): Promise<T> {
    return audit.recorded(viewer, action, { subject: { kind: 'SCHEDULE', id } }, async recording => {
      const schedule = await find(viewer, id)
      recording.add(factsOf(schedule))
      return work(recording, schedule)
    })
  }

  return {
    /**
     * Creates a schedule. Its jobs run with the rights of the viewer, and it ends when the API key of the viewer does.
     * @throws as `Jobs.create`, TOO_MANY_SCHEDULES
     */
    create(viewer: Viewer | null, input: NewScheduleInput): Promise<Schedule> {
      const facts = factsOf({ ...input, job: { ...input.job, target: input.job.target ?? null } })
      return audit.recorded(viewer, 'SCHEDULE_CREATE', facts, async recording => {
        if (input.job.kind === 'RESTORE') {
          throw new AppError('INVALID_INPUT', 'A schedule does not restore: create a job of the kind RESTORE once.')
        }
        const job = await jobs.check(viewer, input.job)
        const creator = asCreator(requireScope(viewer, 'read'))
        const name = parseName(input.name, 'The name of a schedule')
        const nextRunAt = nextTime(input, new Date())
        const { cron, timeZone } = input
        const id = nextId(new Date())
        const schedule = { id, ...creator, name, cron, timeZone, job }
        recording.add({ subject: { kind: 'SCHEDULE', id } })
        return recording.commit(async trx => {
          const created = await insertSchedule(trx, { ...schedule, nextRunAt }, maxSchedules)
          if (!created) throw tooManySchedules()
          return { ...created, lastJob: null }
        })
      })
    },

    /**
     * Changes the name or the times of a schedule, or enables or disables it. Omitted fields do not change.
     * @throws SCOPE_REQUIRED, NOT_FOUND, INVALID_INPUT; as `authorizeJob`
     */
    async update(viewer: Viewer | null, { id, ...input }: ScheduleChanges): Promise<Schedule> {
      const updated = await change(viewer, 'SCHEDULE_UPDATE', id, recording =>
        recording.commit(async trx => {
          const before = await lockSchedule(trx, id)
          if (!before) throw notFound()
          const changed = await updateSchedule(trx, id, changesOf(before, input))
          if (!changed) throw notFound()
          const { name, cron, timeZone, nextRunAt } = changed
          recording.add({ details: { name, ...shown({ cron, timeZone }), enabled: nextRunAt !== null } })
          return changed
        }),
      )
      return { ...updated, lastJob: (await withJobs(requireScope(viewer, 'write'), [updated]))[0]?.lastJob ?? null }
    },

    /** Deletes a schedule. Its jobs stay. @throws as `update` */
    async delete(viewer: Viewer | null, id: string): Promise<void> {
      await change(viewer, 'SCHEDULE_DELETE', id, recording => recording.commit(trx => deleteSchedule(trx, id)))
    },

    /**
     * Creates the job of a schedule now, with the rights of the viewer. The times of the schedule stay, and it may be disabled.
     * @throws as `update`; TOO_MANY_JOBS; PRECONDITION_FAILED while the job before has not ended
     */
    run(viewer: Viewer | null, id: string): Promise<JobRecord> {
      return audit.recorded(viewer, 'JOB_CREATE', { subject: { kind: 'SCHEDULE', id } }, async recording => {
        const schedule = await find(viewer, id)
        recording.add(jobFacts(schedule.job))
        const { lastJobId } = schedule
        const [last] = lastJobId === null ? [] : await findJobs(db, [lastJobId])
        if (last && last.endedAt === null) throw notEnded()
        return jobs.createIn(recording, viewer, schedule.job, {
          id,
          async onCreated(trx, jobId) {
            if (!(await noteRun(trx, id, { jobId, lastJobId }))) throw notEnded()
          },
        })
      })
    },

    /**
     * Returns the newest schedules first.
     * @param page.kind returns only the schedules whose jobs are of this kind
     * @throws SCOPE_REQUIRED, INVALID_INPUT, INVALID_CURSOR
     */
    async list(
      viewer: Viewer | null,
      page: { first: number; after?: string | null | undefined; kind?: JobKind },
    ): Promise<{ items: { schedule: Schedule; cursor: string }[]; hasNext: boolean; endCursor: string | null }> {
      const reader = requireScope(viewer, 'read')
      const limit = parsePageSize(page.first, maxSchedulesPage)
      const { workspaceId, userId } = reader.member
      const of = { workspaceId, userId: isUnrestricted(reader) ? null : userId }
      const { rows, ...found } = await visiblePage(
        read => listSchedules(db, of, { ...read, kind: page.kind ?? null }),
        each => isVisible(reader, { ...each, ...each.job }),
        { limit, after: page.after },
      )
      const schedules = await withJobs(reader, rows)
      return { ...found, items: schedules.map(schedule => ({ schedule, cursor: encodeIdCursor(schedule.id) })) }
    },
  }
}

/** The next run changes only with the times, or if the input enables or disables the schedule. @throws INVALID_INPUT */
function changesOf(before: ScheduleRecord, input: Omit<ScheduleChanges, 'id'>): Parameters<typeof updateSchedule>[2] {
  const { name, cron, timeZone, enabled } = input
  const changes = {
    ...(name != null && { name: parseName(name, 'The name of a schedule') }),
    ...(cron != null && { cron }),
    ...(timeZone != null && { timeZone }),
  }
  if (cron == null && timeZone == null && enabled == null) return changes
  const next = nextTime({ ...before, ...changes }, new Date())
  return { ...changes, nextRunAt: (enabled ?? before.nextRunAt !== null) ? next : null }
}

function factsOf({
  name,
  cron,
  timeZone,
  job: { kind, sources, target },
}: Pick<NewScheduleInput, 'name' | 'cron' | 'timeZone' | 'job'>): AuditFacts {
  const [first] = sources
  return {
    ...(first && { location: first }),
    ...(target && { to: target }),
    details: { name: cut(name), ...shown({ cron, timeZone }), kind, ...namedSources(sources) },
  }
}

function shown({ cron, timeZone }: { cron: string; timeZone: string }) {
  return { cron: cut(cron), timeZone: cut(timeZone) }
}

function notFound(): AppError {
  return new AppError('NOT_FOUND', 'There is no such schedule.')
}

function notEnded(): AppError {
  return new AppError('PRECONDITION_FAILED', 'The job before has not ended: wait for it, or cancel it.')
}

function tooManySchedules(): AppError {
  return new AppError(
    'TOO_MANY_SCHEDULES',
    `You have ${maxSchedules} schedules, which is the limit: delete some first.`,
  )
}

// Starts the runs of schedules that are due: each on one of the servers.

/** Milliseconds between two searches for due runs. */
const pollInterval = 2000

interface SchedulerContext {
  db: Database
  audit: Audit
  credentials: Pick<Credentials, 'recall' | 'recallMember'>
  jobs: Pick<Jobs, 'create'>
  onError: (error: unknown) => void
}

/** Returns a function that ends the search. */
export function startScheduler(context: SchedulerContext): () => Promise<void> {
  const { db, onError } = context

  const polling = startClaiming({
    interval: pollInterval,
    atOnce: 1,
    isAnyDue: () => isAnyScheduleDue(db),
    claim: () => claimSchedule(db, randomUUID()),
    // After a failure of the server, the claim ends by itself, and the run is tried again.
    work: schedule => run(context, schedule),
    onError,
  })
  return polling.stop
}

/** Starts, skips or refuses one run. Runs that were missed while no server ran count as one. */
async function run(context: SchedulerContext, schedule: DueSchedule): Promise<void> {
  const { db, credentials, jobs } = context
  const { workspaceId, lastJobId } = schedule
  try {
    const nextRunAt = nextTime(schedule, schedule.now)
    const last = lastJobId === null ? null : await findJob(db, workspaceId, lastJobId)
    if (last && last.endedAt === null) {
      await settleRun(db, schedule, { kind: 'skipped', nextRunAt })
      return
    }
    const viewer = await creatorOf(credentials, schedule, ownOrigin)
    await jobs.create(viewer, schedule.job, {
      id: schedule.id,
      async onCreated(change, jobId) {
        if (await settleRun(change, schedule, { kind: 'started', jobId, nextRunAt })) return
        throw new AppError('PRECONDITION_FAILED', 'The schedule was changed, so this run does not start.')
      },
    })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    await refuse(context, schedule, error)
  }
}

/** Skips a run after an error that may pass. Any other error, such as a revoked key, disables the schedule. */
async function refuse(
  { db, audit }: SchedulerContext,
  schedule: DueSchedule,
  { reason, message }: AppError,
): Promise<void> {
  const { id, workspaceId, userId, job } = schedule
  if (reasons[reason].retryable || reason === 'TOO_MANY_JOBS' || reason === 'ACCOUNT_DEACTIVATED') {
    await settleRun(db, schedule, { kind: 'skipped', nextRunAt: nextTime(schedule, schedule.now) })
    return
  }
  if (!(await settleRun(db, schedule, { kind: 'disabled', error: { reason, message } }))) return
  const user = await findMember(db, workspaceId, userId)
  const [location] = job.sources
  const facts = {
    ...(user && { user }),
    credential: { kind: schedule.credentialKind, id: schedule.credentialId },
    subject: { kind: 'SCHEDULE', id } as const,
    ...(location && { location }),
    ...(job.target && { to: job.target }),
    details: { name: schedule.name, enabled: false },
  }
  if (user) audit.noteOwn('SCHEDULE_UPDATE', facts, reason)
}

/** Characters. */
const maxPattern = 200
const maxZone = 100

/**
 * Returns the first time after `after` that matches a cron pattern of five parts, so at most one in each minute. A local time
 * that a change of the clocks skips moves to the first moment that exists; one that it repeats counts once.
 * @throws INVALID_INPUT
 */
export function nextTime({ cron, timeZone }: { cron: string; timeZone: string }, after: Date): Date {
  requireTimeZone(timeZone)
  const next = cron.length <= maxPattern ? parsed(cron, timeZone)?.nextRun(after) : null
  if (next) return next
  const message = `"${cron.slice(0, maxPattern)}" is not a cron pattern that ever matches: use five parts, such as "30 2 * * *".`
  throw new AppError('INVALID_INPUT', message)
}

function parsed(cron: string, timezone: string): Cron | null {
  // Croner takes a text with a colon for a date.
  if (cron.includes(':')) return null
  try {
    return new Cron(cron, { timezone, mode: '5-part', paused: true })
  } catch (error) {
    // Croner throws these for any text that is not a pattern.
    if (error instanceof TypeError || error instanceof RangeError) return null
    throw error
  }
}

/** @throws INVALID_INPUT */
function requireTimeZone(timeZone: string): void {
  try {
    if (timeZone === '' || timeZone.length > maxZone) throw new RangeError('the length')
    Intl.DateTimeFormat('en', { timeZone })
  } catch {
    const message = `"${timeZone.slice(0, maxZone)}" is not a time zone: use a name such as "UTC" or "Europe/Berlin".`
    throw new AppError('INVALID_INPUT', message)
  }
}
