/**
 * Jobs: copies, moves, deletions, syncs, checks and restores that outlive their requests. A request stores a job here, or in `folder-jobs.ts` if it waits
 * for the end. `worker.ts` takes the jobs that wait, `run.ts` runs one of them to its end, `walk.ts` works through its entries, and
 * `transfer.ts`, `remove.ts`, `checksum.ts`, `verify.ts` and `restore.ts` work on one entry. `feed.ts` sends the states of jobs to subscriptions.
 */
import { isId, timeOrderedIds } from '../../auth/id.ts'
import { authorizeJob } from '../../auth/needs.ts'
import { formatPath, isWithin, parseNewName, parsePath, root } from '../../auth/path.ts'
import { type Grant, isUnrestricted, requireScope } from '../../auth/policy.ts'
import { requireViewer, type Viewer } from '../../auth/viewer.ts'
import type { Change, Database } from '../../db/client.ts'
import { deleteEntries, insertEntries, type NewJobEntry } from '../../db/jobs/entries.ts'
import { isReportFull, type JobFailure, listFailures, retryEntries } from '../../db/jobs/failures.ts'
import {
  countActive,
  deleteJobsEndedBefore,
  findJob,
  insertJob,
  type JobRecord,
  listJobs,
  queueAfterEnd,
  queueAgain,
  requestOfJob,
} from '../../db/jobs/jobs.ts'
import { listRestoreSteps } from '../../db/jobs/restore-steps.ts'
import { sweepKept } from '../../db/kept-files.ts'
import type { CopyKeeping, JobConflict, JobKind, JobState, ScheduledJob } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Audit, Recording } from '../audit/index.ts'
import { asCreator } from '../creator.ts'
import type { LocationInput } from '../files/entry.ts'
import { parsePageSize, requireShortPaths } from '../input.ts'
import { encodeIdCursor, visiblePage } from '../paging.ts'
import { factsOf, type RecordEnd } from './audit.ts'
import { isVisible, type JobFeed, type JobSubscription, notFound } from './feed.ts'
import { targetPathOf } from './transfer.ts'

export interface NewJobInput {
  kind: JobKind
  sources: readonly LocationInput[]
  /** The folder that the sources go into. With `name`, the only source gets this name there. */
  target?: (LocationInput & { name?: string | null | undefined }) | null | undefined
  conflict: JobConflict
  /** True if SYNC deletes entries that exist only at the target, and RESTORE files that were created since the time. */
  deleteExtra: boolean
  /** True if the job only counts and changes nothing. */
  dryRun: boolean
  /** True if a DELETE or a SYNC deletes for good, without the trash. */
  permanent: boolean
  /** The time whose state a RESTORE brings back. */
  restoreAt?: Date | null | undefined
  /** How a KEEP_COPIES treats the original and its copies. */
  keeping?: CopyKeeping | null | undefined
}

/** The schedule that creates a job. */
export interface JobSchedule {
  id: string
  /** Runs in the transaction that creates the job. */
  onCreated(change: Change, jobId: string): Promise<void>
}

/** The maximum number of sources of one job. */
export const maxSources = 100
export const maxJobsPage = 100
/** The maximum number of failures of one page. */
const maxFailuresPage = 1000
/** The maximum number of steps of a dry run of one page. */
export const maxStepsPage = 1000
/** Jobs with their entries, perhaps a million each, that are deleted in one statement. */
const sweepSize = 1
/** Days that a job stays in the history after its end. */
const historyDays = 30
/** Days that the report of a KEEP_COPIES stays. */
const reportDays = 100
/** Days without a job after which what an original and its copies agreed on is forgotten. */
const keptDays = 400
/** The number of rows that one statement forgets. */
const keptSweepSize = 10_000
/** The maximum number of copies of a folder. */
export const maxCopies = 4
/** The defaults and the bounds of `recheckDays`. */
export const recheckDays = { usual: 30, max: 3650 }

export type Jobs = ReturnType<typeof createJobs>

export function createJobs(options: {
  db: Database
  audit: Audit
  storage: Pick<Storage, 'record'>
  feed: JobFeed
  /** Call this when a job is ready to run. */
  wake(): void
  recordEnd: RecordEnd
  /** Call this when a job has ended. */
  onEnd(job: JobRecord, state: JobState): Promise<void>
}) {
  const { db, audit, storage, feed, wake, recordEnd, onEnd } = options
  const nextId = timeOrderedIds()

  /** Finds a job that the viewer owns. */
  async function find(viewer: Viewer | null, id: string): Promise<JobRecord> {
    const reader = requireScope(viewer, 'read')
    const job = isId(id) ? await findJob(db, reader.member.workspaceId, id) : null
    if (!job || !isVisible(reader, job)) throw notFound()
    return job
  }

  /** Changes a job that the viewer owns and may create. */
  function change(
    viewer: Viewer | null,
    action: 'JOB_PAUSE' | 'JOB_RESUME' | 'JOB_CANCEL' | 'JOB_RETRY',
    id: string,
    work: (change: Change, job: JobRecord, userId: string) => Promise<JobRecord | null>,
  ): Promise<JobRecord> {
    return audit.recorded(viewer, action, { subject: { kind: 'JOB', id } }, async (recording: Recording) => {
      const job = await find(viewer, id)
      const { userId } = requireViewer(viewer).member
      authorizeJob(viewer, job)
      recording.add(factsOf(job))
      const changed = await recording.commit(trx => work(trx, job, userId))
      if (!changed) throw new AppError('PRECONDITION_FAILED', `The job is ${job.state}, so this has no effect.`)
      wake()
      return changed
    })
  }

  /** Checks what the viewer wants a job to do, and returns it as stored. @throws as `create` */
  async function check(viewer: Viewer | null, input: NewJobInput): Promise<ScheduledJob> {
    requireComplete(input)
    const grants = authorizeJob(viewer, input)
    if (input.target?.name != null) parseNewName(input.target.name)
    await Promise.all([...grants.sources, ...(grants.target ? [grants.target] : [])].map(storage.record))
    const isRootFixed = input.kind === 'MOVE' || input.kind === 'DELETE'
    if (isRootFixed && grants.sources.some(({ path }) => path === root)) throw new AppError('ROOT_IS_FIXED')
    requireSeparate(grants.sources, input.target)
    const { kind, conflict, deleteExtra, dryRun, permanent, restoreAt } = input
    const stored = ({ providerId, path }: Grant) => ({ providerId, path: formatPath(path) })
    const name = input.target?.name
    const target = grants.target && { ...stored(grants.target), ...(name != null && { name }) }
    const more = { ...(restoreAt && { restoreAt }), ...(input.keeping && { keeping: input.keeping }) }
    const options = { conflict, deleteExtra, dryRun, permanent, ...more }
    return { kind, sources: grants.sources.map(stored), target, ...options }
  }

  /** Creates a job in an action that is recorded already. @throws as `create` */
  async function createIn(
    recording: Recording,
    viewer: Viewer | null,
    input: NewJobInput,
    schedule?: JobSchedule,
  ): Promise<JobRecord> {
    const checked = await check(viewer, input)
    const id = nextId(new Date())
    recording.add({ subject: { kind: 'JOB', id }, ...(schedule && { details: { schedule: schedule.id } }) })
    const job = await recording.commit(async trx => {
      const created = await storeJob(trx, viewer, { ...checked, id, isAtomic: false }, entriesOf(checked))
      await schedule?.onCreated(trx, id)
      return created
    })
    wake()
    return job
  }

  return {
    check,
    createIn,

    /**
     * Queues a job. It runs with the rights of the viewer and ends when the API key of the viewer does.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, NOT_FOUND, INVALID_PATH, INVALID_INPUT, ROOT_IS_FIXED,
     *   TOO_MANY_JOBS
     */
    create(viewer: Viewer | null, input: NewJobInput, schedule?: JobSchedule): Promise<JobRecord> {
      return audit.recorded(viewer, 'JOB_CREATE', factsOf(input), recording =>
        createIn(recording, viewer, input, schedule),
      )
    },

    /** @throws SCOPE_REQUIRED, NOT_FOUND */
    get: find,

    /**
     * Follows one job, or all jobs that the viewer sees: first as they are now, then after each change. Fails when the
     * signal aborts or the viewer loses access.
     * @throws SCOPE_REQUIRED, NOT_FOUND, TOO_MANY_SUBSCRIPTIONS, UNAVAILABLE
     */
    async follow(viewer: Viewer | null, id: string | null, signal: AbortSignal): Promise<JobSubscription> {
      const reader = requireScope(viewer, 'read')
      if (id !== null && !isId(id)) throw notFound()
      return feed.open(reader, id, signal)
    },

    /** Returns the newest jobs first. @throws SCOPE_REQUIRED, INVALID_INPUT, INVALID_CURSOR */
    async list(
      viewer: Viewer | null,
      query: { state?: JobState | null | undefined },
      page: { first: number; after?: string | null | undefined },
    ): Promise<{ items: { job: JobRecord; cursor: string }[]; hasNext: boolean; endCursor: string | null }> {
      const reader = requireScope(viewer, 'read')
      const limit = parsePageSize(page.first, maxJobsPage)
      const { workspaceId, userId } = reader.member
      const of = { workspaceId, userId: isUnrestricted(reader) ? null : userId, state: query.state ?? null }
      const { rows, ...found } = await visiblePage(
        read => listJobs(db, of, read),
        job => isVisible(reader, job),
        { limit, after: page.after },
      )
      return { ...found, items: rows.map(job => ({ job, cursor: encodeIdCursor(job.id) })) }
    },

    /** Returns what failed, in the order in which the job found it. @throws INVALID_INPUT, INVALID_CURSOR */
    async failures(job: JobRecord, page: { first: number; after?: string | null | undefined }) {
      const limit = parsePageSize(page.first, maxFailuresPage)
      if (page.after != null && !/^\d{1,18}$/.test(page.after)) throw new AppError('INVALID_CURSOR')
      const found = await listFailures(db, job.id, { limit: limit + 1, after: page.after ?? null })
      const items = found.slice(0, limit).map((failure: JobFailure) => ({ failure, cursor: failure.id }))
      return { items, hasNext: found.length > limit }
    },

    /** Returns what a dry run of a RESTORE has found, in the order in which it found it. @throws INVALID_INPUT, INVALID_CURSOR */
    async restoreSteps(job: JobRecord, page: { first: number; after?: string | null | undefined }) {
      const limit = parsePageSize(page.first, maxStepsPage)
      if (page.after != null && !/^\d{1,18}$/.test(page.after)) throw new AppError('INVALID_CURSOR')
      const found = await listRestoreSteps(db, job.id, { limit: limit + 1, after: page.after ?? null })
      const items = found.slice(0, limit).map(step => ({ step, cursor: step.id }))
      return { items, hasNext: found.length > limit }
    },

    /** Pauses a job within a second. Files that are being copied are copied again later. */
    pause: (viewer: Viewer | null, id: string) =>
      change(viewer, 'JOB_PAUSE', id, (trx, job, userId) => requestOfJob(trx, job.id, 'PAUSE', userId)),

    resume: (viewer: Viewer | null, id: string) =>
      change(viewer, 'JOB_RESUME', id, (trx, job) => queueAgain(trx, job.id)),

    /** Cancels a job within a second. It does not undo what it has copied or moved. */
    async cancel(viewer: Viewer | null, id: string): Promise<JobRecord> {
      const job = await change(viewer, 'JOB_CANCEL', id, async (trx, found, userId) => {
        const canceled = await requestOfJob(trx, found.id, 'CANCEL', userId)
        if (canceled) await recordEnd(trx, canceled)
        return canceled
      })
      // The server that runs a job ends it. This one was not running.
      if (job.state === 'CANCELED') await onEnd(job, job.state)
      return job
    },

    /** Retries what failed. A SYNC, and a KEEP_COPIES whose report is full, compares everything again. */
    retry: (viewer: Viewer | null, id: string) =>
      change(viewer, 'JOB_RETRY', id, async (trx, job) => {
        // A SYNC deletes extra entries only in folders without a failure, so it has to find those again.
        // A job that has undone its copies makes them again.
        // A KEEP_COPIES whose report is full does not know what else has failed.
        const isRestart = job.kind === 'SYNC' || job.outcome === 'UNDO' || (await isReportFull(trx, job.id))
        const changed = await queueAfterEnd(trx, job, { isRestart })
        if (!changed) return null
        await requireFewJobs(trx, changed)
        if (isRestart) {
          await deleteEntries(trx, job.id)
          await insertEntries(trx, job.id, job.isAtomic ? repeatedEntriesOf(job) : entriesOf(job))
        } else await retryEntries(trx, job.id)
        return changed
      }),

    /** Deletes old jobs, until the signal aborts. Call it once a day. */
    async sweep(signal: AbortSignal): Promise<void> {
      while (
        !signal.aborted &&
        (await deleteJobsEndedBefore(db, { days: historyDays, reportDays }, sweepSize)) === sweepSize
      );
      while (!signal.aborted && (await sweepKept(db, keptDays, keptSweepSize)));
    },
  }
}

function entriesOf({ kind, sources, target }: Pick<JobRecord, 'kind' | 'sources' | 'target'>): NewJobEntry[] {
  return (kind === 'KEEP_COPIES' ? sources.slice(0, 1) : sources).map(({ providerId, path }) => ({
    state: 'SOURCE',
    providerId,
    path,
    targetPath: target && targetPathOf(parsePath(path), target),
    depth: 0,
    isNewTarget: false,
  }))
}

/** The target of an atomic job is the new folder itself. It may exist if it is empty. */
function repeatedEntriesOf({ sources, target }: JobRecord): NewJobEntry[] {
  return sources.map(source => ({
    state: 'SOURCE',
    ...source,
    targetPath: target?.path ?? null,
    depth: 0,
    isNewTarget: false,
    isStarted: true,
  }))
}

/** @throws INVALID_INPUT */
function requireComplete(input: NewJobInput): void {
  const { kind, sources, target, deleteExtra, permanent, restoreAt } = input
  if (sources.length === 0 || sources.length > maxSources) {
    throw new AppError('INVALID_INPUT', `A job has 1 to ${maxSources} sources.`)
  }
  const paths = sources.map(({ path }) => path)
  requireShortPaths(paths, 'create several jobs or schedules, each with some of the sources')
  const hasTarget = kind === 'COPY' || kind === 'MOVE' || kind === 'SYNC'
  if (!hasTarget && target) throw new AppError('INVALID_INPUT', `A job of the kind ${kind} has no target.`)
  if (hasTarget && !target) throw new AppError('INVALID_INPUT', 'Give the target folder that the sources go into.')
  if (target?.name != null && sources.length > 1) {
    throw new AppError('INVALID_INPUT', '"targetName" is only for a job with one source.')
  }
  if (deleteExtra && kind !== 'SYNC' && kind !== 'RESTORE' && kind !== 'KEEP_COPIES') {
    throw new AppError('INVALID_INPUT', '"deleteExtra" is only for the kinds SYNC, RESTORE and KEEP_COPIES.')
  }
  if (kind === 'RESTORE' && (!restoreAt || Number.isNaN(restoreAt.getTime()) || restoreAt >= new Date())) {
    throw new AppError('INVALID_INPUT', 'Give the time in the past whose state comes back as "restoreAt".')
  }
  if (kind === 'RESTORE' && permanent) throw new AppError('INVALID_INPUT', 'A RESTORE deletes nothing for good.')
  requireCopies(input)
  if (kind !== 'RESTORE' && restoreAt) throw new AppError('INVALID_INPUT', '"restoreAt" is only for the kind RESTORE.')
}

/** @throws INVALID_INPUT */
function requireCopies({ kind, sources, permanent, dryRun, keeping }: NewJobInput): void {
  if ((kind === 'KEEP_COPIES') !== (keeping != null)) {
    throw new AppError('INVALID_INPUT', '"repair" and "recheckDays" are only for the kind KEEP_COPIES.')
  }
  if (!keeping) return
  const count = sources.length - 1
  if (count < 1 || count > maxCopies) {
    throw new AppError(
      'INVALID_INPUT',
      `Give the folder and then 1 to ${maxCopies} folders for its copies as "sources".`,
    )
  }
  if (new Set(sources.map(({ providerId }) => providerId)).size <= count) {
    throw new AppError(
      'INVALID_INPUT',
      'Keep each copy in another storage, because what damages a storage damages all of it.',
    )
  }
  if (permanent) throw new AppError('INVALID_INPUT', 'A KEEP_COPIES deletes nothing for good.')
  if (dryRun)
    throw new AppError('INVALID_INPUT', 'A KEEP_COPIES has no dry run: leave out "repair", and it only reports.')
  if (keeping.recheckDays < 0 || keeping.recheckDays > recheckDays.max) {
    throw new AppError('INVALID_INPUT', `"recheckDays" is 0 to ${recheckDays.max}.`)
  }
}

/**
 * Each source has its own path at the target. Otherwise one source would overwrite or delete the copies of another.
 * @throws INVALID_INPUT
 */
function requireSeparate(sources: readonly Grant[], target: NewJobInput['target']): void {
  const targets = target
    ? sources.map(({ path }) => ({ providerId: target.providerId, path: parsePath(targetPathOf(path, target)) }))
    : sources
  for (const list of [sources, targets]) {
    const overlap = list.some((a, index) =>
      list.some((b, other) => index !== other && a.providerId === b.providerId && isWithin(a.path, b.path)),
    )
    if (!overlap) continue
    throw new AppError(
      'INVALID_INPUT',
      'Two sources overlap, or would go to the same path at the target: give each a job of its own.',
    )
  }
}

/** The maximum number of jobs of one user that have not ended. */
export const maxActiveJobs = 100

/** Stores a job that acts as the viewer. @throws TOO_MANY_JOBS */
export async function storeJob(
  trx: Change,
  viewer: Viewer | null,
  job: ScheduledJob & { id: string; isAtomic: boolean },
  entries: readonly NewJobEntry[],
): Promise<JobRecord> {
  const creator = requireScope(viewer, 'read')
  const { address, requestId } = creator.origin
  const stored = await insertJob(trx, { ...job, ...asCreator(creator), address, requestId })
  await requireFewJobs(trx, stored)
  await insertEntries(trx, job.id, entries)
  return stored
}

/** @throws TOO_MANY_JOBS */
async function requireFewJobs(trx: Change, job: JobRecord): Promise<void> {
  if ((await countActive(trx, job)) <= maxActiveJobs) return
  throw new AppError(
    'TOO_MANY_JOBS',
    `You have ${maxActiveJobs} jobs that have not ended, which is the limit: wait, or cancel some of them.`,
  )
}
