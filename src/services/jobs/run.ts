/** Runs one job, from taking its lease to its end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { authorizeJob } from '../../auth/needs.ts'
import { changeWithOwnEvents } from '../../db/audit-events.ts'
import type { Database } from '../../db/client.ts'
import { LeaseLost } from '../../db/jobs/entries.ts'
import { countFindings, isReportFull } from '../../db/jobs/failures.ts'
import type { JobRecord } from '../../db/jobs/jobs.ts'
import { endRun, hasFailed, renewJob, type Totals } from '../../db/jobs/leases.ts'
import { type AgreedFile, openKeptFolders, storeKept } from '../../db/kept-files.ts'
import { batched } from '../../db/lookups.ts'
import type { JobState } from '../../db/schema.ts'
import { AppError, type Reason, toAppError } from '../../errors.ts'
import { LeaseKeeper } from '../../lib/lease-keeper.ts'
import type { RetrySchedule } from '../../lib/retry.ts'
import type { Storage } from '../../storage/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { creatorOf } from '../creator.ts'
import type { TrashBin } from '../files/trash-bin.ts'
import { children, requireDepth } from '../files/tree.ts'
import type { Credentials } from '../people/credentials.ts'
import type { RecordEnd } from './audit.ts'
import { type JobRun, keepsAllOrNone, maxFindings, RunProgress, retryBackEnd } from './job-run.ts'
import { ProviderLimits } from './limits.ts'
import { settle, walk } from './walk.ts'

/** Milliseconds between two renewals of the lease. A request to pause or cancel takes effect within this time. */
const heartbeat = 1000
/** Milliseconds without a renewal after which the lease counts as lost. Shorter than the lease. */
const leaseTimeout = 10_000
/** Milliseconds before a job that met a failure of the database is queued again. */
const requeueDelay = 2000
/** Milliseconds to wait before each attempt to open the locations of a job, whose servers may just be starting. */
const startSchedule: RetrySchedule = { delays: [500, 2000, 8000, 30_000, 60_000] }

export interface RunContext {
  db: Database
  storage: Storage
  trash: TrashBin
  credentials: Pick<Credentials, 'recall' | 'recallMember'>
  recordEnd: RecordEnd
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
 * Resolves when the job has ended, is paused, waits for its next turn, or belongs to another server.
 * @param lease `takenAt` is when it was requested, as of `performance.now()`
 * @param stop aborts when this server stops; another one then continues the job
 * @param onTurnOver called when another member waits for a turn: the run ends after the steps that it is in. Null for a run that
 *   keeps its turn
 * @returns the job's new state, or null if another server decides on it
 */
export async function runJob(
  context: RunContext,
  job: JobRecord,
  lease: { id: string; takenAt: number },
  stop: AbortSignal,
  onTurnOver: (() => void) | null,
): Promise<JobState | null> {
  const { db, recordEnd } = context
  const controller = new AbortController()
  const turn = new AbortController()
  const onStop = () => controller.abort(new Interruption('QUEUED'))
  if (stop.aborted) onStop()
  else stop.addEventListener('abort', onStop, { once: true })
  const progress = new RunProgress(job.progress)
  const limits = new ProviderLimits([...job.sources, ...(job.target ? [job.target] : [])].map(each => each.providerId))
  const keeper = new LeaseKeeper({
    interval: heartbeat,
    timeout: leaseTimeout,
    isExact: true,
    takenAt: lease.takenAt,
    renew,
    onLost: () => controller.abort(new LeaseLost('The lease was not renewed in time, or another server has it')),
  })

  /** Returns whether the run still has the lease. */
  async function renew(): Promise<boolean> {
    const renewed = await renewJob(db, job.id, lease.id, progress.measure(performance.now()))
    if (renewed?.isTurnOver && onTurnOver && !turn.signal.aborted) {
      turn.abort(new Interruption('QUEUED'))
      onTurnOver()
    }
    if (renewed?.requested) controller.abort(new Interruption(renewed.requested === 'PAUSE' ? 'PAUSED' : 'CANCELED'))
    // The renewal shows whether the database fails.
    await limits.refresh(db).catch(() => {})
    return renewed !== null
  }

  const steps = { progress, limits, turn: turn.signal }
  const outcome = await work(context, job, lease.id, steps, controller.signal).then(
    failed => ended(failed ? 'FAILED' : 'SUCCEEDED'),
    (error: unknown) => outcomeOf(controller.signal.aborted ? controller.signal.reason : error),
  )
  // Stores the last counts, even those of steps that did not finish.
  await keeper.end()
  stop.removeEventListener('abort', onStop)
  if (!outcome) return null
  if (outcome.cause !== undefined) context.onError(outcome.cause)
  if (outcome.isDelayed) await sleep(requeueDelay)
  return await changeWithOwnEvents(db, async change => {
    const ended = await endRun(change, job.id, lease.id, outcome)
    if (ended) await recordEnd(change, ended)
    return ended?.state ?? null
  })
}

interface Outcome {
  state: JobState
  error: { reason: Reason; message: string } | null
  /** The original error, for the log. */
  cause?: unknown
  isDelayed?: boolean
}

function ended(state: JobState): Outcome {
  return { state, error: null }
}

/** Returns null if another server has the job. */
function outcomeOf(error: unknown): Outcome | null {
  if (error instanceof LeaseLost) return null
  if (error instanceof Interruption) return ended(error.state)
  const { reason, message } = toAppError(error)
  const isOfServer = !(error instanceof AppError)
  // The database is not reachable now, so the job continues when it is.
  if (isOfServer && reason === 'UNAVAILABLE') return { state: 'QUEUED', error: null, cause: error, isDelayed: true }
  return { state: 'FAILED', error: { reason, message }, ...(isOfServer && { cause: error }) }
}

/** Resolves with whether something failed. */
async function work(
  { db, storage, trash, credentials, onError }: RunContext,
  job: JobRecord,
  lease: string,
  { progress, limits, turn }: Pick<JobRun, 'progress' | 'limits' | 'turn'>,
  signal: AbortSignal,
): Promise<boolean> {
  await limits.refresh(db)
  const viewer = await creatorOf(credentials, job, { address: job.address, requestId: job.requestId })
  const { sources, target } = authorizeJob(viewer, job)
  const grants = target ? [...sources, target] : sources
  return storage.activeGrants.run(grants, signal, async granted => {
    const retried = retryBackEnd(job, granted, startSchedule)
    const locations = await retried(() => open(storage, job, { sources, target }, granted))
    for (const location of [...locations.sources, ...(locations.target ? [locations.target] : [])]) {
      limits.bound(location)
    }
    const run: JobRun = {
      db,
      job,
      lease,
      signal: granted,
      turn,
      ...locations,
      keptFolders: job.kind === 'KEEP_COPIES' ? await keptFoldersOf(db, locations.sources) : [],
      storeKept: batched<AgreedFile, true>(async files => {
        await storeKept(db, files)
        return new Map(files.map(file => [file, true]))
      }),
      limits,
      progress,
      trash,
      onError,
    }
    if (job.kind === 'KEEP_COPIES') {
      progress.room = maxFindings - (await countFindings(db, job.id))
      progress.saysFull = await isReportFull(db, job.id)
    }
    const counting = new AbortController()
    const counted = countSources(run, progress, AbortSignal.any([granted, counting.signal]))
    try {
      if (job.outcome === null) await walk(run)
      if (keepsAllOrNone(job)) await settle(run)
    } catch (error) {
      // The end of a grant can first show as an error of the back end.
      throw granted.aborted ? granted.reason : error
    } finally {
      counting.abort()
      await counted
    }
    return hasFailed(db, job.id)
  })
}

async function keptFoldersOf(db: Database, [original, ...copies]: readonly ReadLocation[]): Promise<readonly number[]> {
  return original ? openKeptFolders(db, original, copies) : []
}

async function open(
  storage: Storage,
  job: JobRecord,
  grants: ReturnType<typeof authorizeJob>,
  signal: AbortSignal,
): Promise<Pick<JobRun, 'sources' | 'target' | 'sourceFolders' | 'targetFolders'>> {
  const sources = await Promise.all(
    grants.sources.map(source =>
      source.scope === 'write' ? storage.writeAt(source as typeof source & { scope: 'write' }) : storage.readAt(source),
    ),
  )
  const target = grants.target && (await storage.writeAt(grants.target))
  const isKeeping = job.kind === 'KEEP_COPIES'
  const [original, ...copies] = sources
  return {
    sources,
    target,
    targetFolders: await foldersAround(isKeeping ? copies : target ? [target] : [], signal),
    sourceFolders: await foldersAround(isKeeping && original ? [original] : job.kind === 'SYNC' ? sources : [], signal),
  }
}

/** Returns the ids of the locations and of the folders that contain them. */
async function foldersAround(locations: readonly ReadLocation[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  // Use the path of an entry in each location, so that the location itself counts as an enclosing folder.
  const ids = await Promise.all(locations.map(each => each.child('entry').enclosingIds(signal, null)))
  return new Set(ids.flatMap(each => [...each]))
}

/** The totals are stored once all sources are counted. A failure leaves them unknown. */
async function countSources({ sources, job }: JobRun, progress: RunProgress, signal: AbortSignal): Promise<void> {
  // These work on some of the files only.
  if (progress.totals || job.kind === 'CHECKSUM' || job.kind === 'RESTORE') return
  const count = { files: 0, bytes: 0 }
  // Copies have the files of their original.
  const counted = job.kind === 'KEEP_COPIES' ? sources.slice(0, 1) : sources
  try {
    for (const source of counted) await countTree(source, count, signal)
    progress.totals = count
  } catch {
    // The job reports it.
  }
}

/**
 * Adds everything at and below a location to `count`. Folders that cannot be listed do not count: the job reports them.
 */
async function countTree(location: ReadLocation, count: Totals, signal: AbortSignal): Promise<void> {
  const entry = await location.stat(signal)
  await countEntry(location, entry, count, signal, 0)
}

async function countEntry(
  location: ReadLocation,
  entry: CheckedEntry,
  count: Totals,
  signal: AbortSignal,
  depth: number,
): Promise<void> {
  if (entry.kind === 'directory') return countFolder(location, count, signal, depth)
  count.files += 1
  count.bytes += entry.size ?? 0
}

async function countFolder(folder: ReadLocation, count: Totals, signal: AbortSignal, depth: number): Promise<void> {
  requireDepth(depth)
  try {
    for await (const entry of children(folder, signal)) {
      await countEntry(folder.child(entry.name), entry, count, signal, depth + 1)
    }
  } catch (error) {
    if (signal.aborted || !(error instanceof AppError)) throw error
  }
}
