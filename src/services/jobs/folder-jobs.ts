/** The jobs of the mutations `copy`, `move` and `delete`, which wait for them. */
import { timeOrderedIds } from '../../auth/id.ts'
import { formatPath } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import type { NewJobEntry } from '../../db/jobs/entries.ts'
import { listFailures } from '../../db/jobs/failures.ts'
import { findJobs, type JobRecord } from '../../db/jobs/jobs.ts'
import type { ScheduledJob, StoredLocation } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import { createWaits, type Waits } from '../../lib/waits.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { Audit } from '../audit/index.ts'
import { deleteIfEmpty } from '../files/copying.ts'
import type { FolderJobs, FolderWork } from '../files/transfer.ts'
import { factsOf } from './audit.ts'
import { storeJob } from './index.ts'

/** Milliseconds to delete the folder of a job that could not start. */
const undoTimeout = 30_000

export function createFolderJobs(options: {
  db: Database
  audit: Audit
  waits: Waits<JobRecord>
  /** Call this with a job that is ready to run. */
  runNow(job: JobRecord): void
}): FolderJobs {
  const { db, audit, waits, runNow } = options
  const nextId = timeOrderedIds()

  return {
    async start(viewer, work) {
      const job = jobOf(work)
      const id = nextId(new Date())
      try {
        const stored = await audit.recorded(
          viewer,
          'JOB_CREATE',
          { ...factsOf(job), subject: { kind: 'JOB', id } },
          recording => recording.commit(trx => storeJob(trx, viewer, { ...job, id, isAtomic: true }, [entryOf(work)])),
        )
        runNow(stored)
        return id
      } catch (error) {
        // The first error matters more than an error of the deletion.
        if (work.target?.isNew) {
          await deleteIfEmpty(work.target.folder, AbortSignal.timeout(undoTimeout)).catch(() => {})
        }
        throw error
      }
    },

    async finish(id, signal) {
      const job = await waits.wait(id, signal)
      if (job.state !== 'SUCCEEDED') throw await failureOf(db, job)
    },
  }
}

function jobOf({ kind, permanent = false, source, target }: FolderWork): ScheduledJob {
  return {
    kind,
    sources: [stored(source)],
    target: target && stored(target.folder),
    // The request has decided about the name of the folder.
    conflict: 'FAIL',
    deleteExtra: false,
    dryRun: false,
    permanent,
  }
}

function stored({ providerId, path }: ReadLocation): StoredLocation {
  return { providerId, path: formatPath(path) }
}

function entryOf({ source, target }: FolderWork): NewJobEntry {
  return {
    // A deletion looks its source up, because its back end may delete it in one call.
    state: target ? 'FOLDER' : 'SOURCE',
    ...stored(source),
    targetPath: target && formatPath(target.folder.path),
    depth: 0,
    isNewTarget: target?.isNew === true,
  }
}

/** Returns the error for the request: the reason why the job failed, or the first of its failures. */
async function failureOf(db: Database, job: JobRecord): Promise<AppError> {
  const facts = { jobId: job.id }
  if (job.state !== 'FAILED') {
    const message =
      job.state === 'PAUSED'
        ? `The job ${job.id} is paused: resume it, or cancel it.`
        : `The job ${job.id} was canceled. It does not undo what it has done.`
    return new AppError('PRECONDITION_FAILED', message, { facts })
  }
  const [first] = job.error ? [job.error] : await listFailures(db, job.id, { limit: 1, after: null })
  if (job.kind === 'MOVE' && first?.reason === 'NOT_EMPTY') {
    const message = `"${job.sources[0]?.path}" is copied, but entries that were added meanwhile or cannot be copied were not deleted from the source.`
    return new AppError('PRECONDITION_FAILED', message, { facts })
  }
  return new AppError(first?.reason ?? 'INTERNAL', first?.message, { facts })
}

// Waits for the ends of jobs, whichever server runs them. One query a second asks for all of them.

/** Milliseconds between two queries. The end of a job that this server runs is known at once. */
const interval = 1000

/**
 * The ends of jobs, also of those that are paused.
 * @param runNow is called every second for each job that has not ended, because its server may have been killed
 */
export function createJobWaits(options: {
  db: Database
  runNow(job: JobRecord): void
  onError: (error: unknown) => void
}): Waits<JobRecord> {
  const { db, runNow, onError } = options
  return createWaits({
    interval,
    async search(ids, resolve) {
      for (const job of await findJobs(db, ids)) {
        if (job.state === 'QUEUED' || job.state === 'RUNNING') runNow(job)
        else resolve(job.id, job)
      }
    },
    stopping,
    onError,
  })
}

function stopping(jobId: string): AppError {
  const message = `The server is stopping. The job ${jobId} goes on: ask for its state.`
  return new AppError('UNAVAILABLE', message, { retryAfterMs: 1000, facts: { jobId } })
}
