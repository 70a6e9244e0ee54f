/** Starts the runs of schedules that are due: each on one of the servers. */
import { randomUUID } from 'node:crypto'
import { Cron } from 'croner'
import { ownOrigin } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findJob } from '../../db/jobs/jobs.ts'
import { findMember } from '../../db/members.ts'
import { claimSchedule, type DueSchedule, isAnyScheduleDue, settleRun } from '../../db/schedules.ts'
import { AppError, reasons } from '../../errors.ts'
import { startClaiming } from '../../lib/polling.ts'
import type { Audit } from '../audit/index.ts'
import { creatorOf } from '../creator.ts'
import type { Jobs } from '../jobs/index.ts'
import type { Credentials } from '../people/credentials.ts'

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
  if (reasons[reason].retryable || reason === 'TOO_MANY_JOBS') {
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
