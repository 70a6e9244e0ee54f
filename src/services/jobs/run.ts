/** Runs one job, from taking its lease to its end. */
import { authorizeJob, type JobInput } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { LeaseLost } from '../../db/jobs/entries.ts'
import { endRun, hasFailed, renewJob } from '../../db/jobs/leases.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import type { JobState } from '../../db/schema.ts'
import { type Reason, toAppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { Credentials } from '../people/credentials.ts'
import { countTree } from './count.ts'
import type { JobRun } from './job-run.ts'
import { Limiter } from './limiter.ts'
import { RunProgress } from './progress.ts'
import { walk } from './walk.ts'

/** Milliseconds between two renewals of the lease. A request to pause or cancel takes effect within this time. */
const heartbeat = 1000
/** Milliseconds without a renewal after which the lease counts as lost. Shorter than the lease. */
const leaseTimeout = 8000
/** The number of files of one job that are worked on at once. */
const filesAtOnce = 16

export interface RunContext {
  db: Database
  storage: Storage
  credentials: Pick<Credentials, 'recall' | 'recallMember'>
  onError: (error: unknown) => void
}

/** Ends a run without ending the job. */
class Interruption extends Error {
  readonly state: JobState

  constructor(state: JobState) {
    super(`The run ends: ${state}`)
    this.state = state
  }
}

/**
 * Resolves when the job has ended, is paused, or belongs to another server.
 * @param stop aborts when this server stops; another one then continues the job
 * @returns the job's new state, or null if another server decides on it
 */
export async function runJob(
  context: RunContext,
  job: JobRecord,
  lease: string,
  stop: AbortSignal,
): Promise<JobState | null> {
  const { db } = context
  const controller = new AbortController()
  const onStop = () => controller.abort(new Interruption('QUEUED'))
  if (stop.aborted) onStop()
  else stop.addEventListener('abort', onStop, { once: true })
  const progress = new RunProgress()
  const timer = setInterval(() => void beat(), heartbeat).unref()
  let renewedAt = performance.now()

  async function beat(): Promise<void> {
    const sentAt = performance.now()
    if (sentAt - renewedAt > leaseTimeout) controller.abort(new LeaseLost('The lease was not renewed in time'))
    const renewed = await renewJob(db, job.id, lease, progress.measure(sentAt)).catch(() => undefined)
    if (renewed === undefined) return
    if (renewed === null) controller.abort(new LeaseLost('Another server has the lease'))
    else renewedAt = sentAt
    if (renewed?.requested) controller.abort(new Interruption(renewed.requested === 'PAUSE' ? 'PAUSED' : 'CANCELED'))
  }

  const outcome = await work(context, job, lease, progress, controller.signal).then(
    failed => ended(failed ? 'FAILED' : 'SUCCEEDED'),
    (error: unknown) => outcomeOf(controller.signal.aborted ? controller.signal.reason : error),
  )
  clearInterval(timer)
  stop.removeEventListener('abort', onStop)
  if (!outcome) return null
  if (outcome.error?.reason === 'INTERNAL') context.onError(outcome.cause)
  return (await endRun(db, job.id, lease, outcome)) ? outcome.state : null
}

interface Outcome {
  state: JobState
  error: { reason: Reason; message: string } | null
  /** The original error, for the log. */
  cause?: unknown
}

function ended(state: JobState): Outcome {
  return { state, error: null }
}

/** Returns null if another server has the job. */
function outcomeOf(error: unknown): Outcome | null {
  if (error instanceof LeaseLost) return null
  if (error instanceof Interruption) return ended(error.state)
  const { reason, message } = toAppError(error)
  return { state: 'FAILED', error: { reason, message }, cause: error }
}

/** Resolves with whether something failed. */
async function work(
  { db, storage, credentials }: RunContext,
  job: JobRecord,
  lease: string,
  progress: RunProgress,
  signal: AbortSignal,
): Promise<boolean> {
  const viewer = await viewerOf(credentials, job)
  const { sources, target } = authorizeJob(viewer, job as JobInput)
  const grants = target ? [...sources, target] : sources
  return storage.activeGrants.run(grants, signal, async granted => {
    const isWritten = job.kind === 'MOVE' || job.kind === 'DELETE'
    const from = await Promise.all(
      sources.map(source =>
        isWritten ? storage.writeAt(source as typeof source & { scope: 'write' }) : storage.readAt(source),
      ),
    )
    const to = target && (await storage.writeAt(target))
    const run: JobRun = {
      db,
      job,
      lease,
      signal: granted,
      sources: from,
      target: to,
      // Use the path of an entry in the target, so that the target itself counts as an enclosing folder.
      enclosing: to ? await to.child('entry').enclosingIds(granted, null) : new Set(),
      files: new Limiter(filesAtOnce),
      onBytes: bytes => progress.add(bytes),
    }
    const counting = new AbortController()
    const counted = countSources(run, progress, AbortSignal.any([granted, counting.signal]))
    try {
      await walk(run)
    } finally {
      counting.abort()
      await counted
    }
    await renewJob(db, job.id, lease, progress.measure(performance.now()))
    return hasFailed(db, job.id)
  })
}

/** The totals are stored once all sources are counted. A failure leaves them unknown: the job itself reports it. */
async function countSources({ sources }: JobRun, progress: RunProgress, signal: AbortSignal): Promise<void> {
  const count = { files: 0, bytes: 0 }
  try {
    for (const source of sources) await countTree(source, count, signal)
    progress.totals = count
  } catch {
    progress.totals = null
  }
}

/**
 * A job acts as the person who created it. It ends with the API key that created it; the end of a session does not end it.
 * @throws as `Credentials.recall`
 */
function viewerOf(credentials: RunContext['credentials'], job: JobRecord): Promise<Viewer> {
  const origin = { address: job.address, requestId: job.requestId }
  return job.credentialKind === 'API_KEY'
    ? credentials.recall({ kind: 'API_KEY', credentialId: job.credentialId, origin })
    : credentials.recallMember({ userId: job.userId, sessionId: job.credentialId, origin })
}
