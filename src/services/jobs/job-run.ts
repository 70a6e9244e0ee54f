/** The common data of the steps of one run of a job: its state, tallies, retries and progress, and the locations of its entries. */
import { formatPath, isWithin, parsePath, type StoragePath } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import { moveMarks } from '../../db/entry-marks.ts'
import { type EntryMove, moveVersions } from '../../db/file-versions.ts'
import { LeaseLost, type NewFailure, type NewJobEntry, type RunId, type StepResults } from '../../db/jobs/entries.ts'
import type { JobProgress, JobRecord } from '../../db/jobs/jobs.ts'
import type { Totals } from '../../db/jobs/leases.ts'
import type { AgreedFile } from '../../db/kept-files.ts'
import type { LocationCheck } from '../../db/schema.ts'
import { AppError, reasons, toAppError } from '../../errors.ts'
import { type RetrySchedule, withRetries } from '../../lib/retry.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import { WriteLocation } from '../../storage/write-location.ts'
import type { TrashBin } from '../files/trash-bin.ts'
import type { ProviderLimits } from './limits.ts'

export interface JobRun extends RunId {
  db: Database
  job: JobRecord
  /** Aborts on a pause, a cancellation, a lost lease, and the end of a grant. */
  signal: AbortSignal
  /**
   * Aborts when another member waits for a turn: the run ends after the steps that it is in. Every run works on at least one step, so
   * that the job ends however short its turns are.
   */
  turn: AbortSignal
  /** The locations of the sources, as the policy has granted them. */
  sources: readonly ReadLocation[]
  /** The folder that the sources go into; null for the kinds without a target. */
  target: WriteLocation | null
  /** Ids of the target and of the folders that contain it. Copying one of them into the target would never end. */
  targetFolders: ReadonlySet<string>
  /** For a KEEP_COPIES, the ids of its pairs in `kept_folders`, in the order of the copies. */
  keptFolders: readonly number[]
  /** Stores what an original and a copy have agreed on. Files that agree at the same time share a statement. */
  storeKept(file: AgreedFile): Promise<unknown>
  /** For a SYNC and a KEEP_COPIES, ids of the sources and of the folders that contain them. It never deletes them. */
  sourceFolders: ReadonlySet<string>
  /** Bounds the files that are worked on at once, and the bytes that pass through this server. */
  limits: ProviderLimits
  progress: RunProgress
  trash: TrashBin
  /** For errors that are faults of the server. */
  onError(error: unknown): void
}

/** The findings that the report of a KEEP_COPIES lists. */
export const maxFindings = 10_000
/** Milliseconds to wait before each retry of an entry whose back end is overloaded or down. */
const entrySchedule: RetrySchedule = { delays: [500, 2000, 8000] }
/** The maximum of the delay that a back end asks for, in milliseconds. */
const maxLeastDelay = 30_000
/** Retries of a job that a mutation waits for. */
const maxAwaitedRetries = 2

/**
 * Returns a function that retries work while its back end is overloaded or down. The retries are fewer if a mutation waits for the
 * job. It throws the reason of the signal, or the last error.
 */
export function retryBackEnd({ isAtomic }: JobRecord, signal: AbortSignal, { delays }: RetrySchedule) {
  const schedule = { delays: isAtomic ? delays.slice(0, maxAwaitedRetries) : delays }
  return <T>(work: (isRetry: boolean) => Promise<T>): Promise<T> =>
    withRetries(schedule, { signal, leastDelay: leastDelayAfter }, work)
}

/** Returns null after an error that is final. */
function leastDelayAfter(error: unknown): number | null {
  const { reason, retryAfterMs } = toAppError(error)
  if (error instanceof LeaseLost || !reasons[reason].retryable) return null
  return Math.min(retryAfterMs ?? 0, maxLeastDelay)
}

/** Returns whether the job keeps all of its copies or none. */
export function keepsAllOrNone({ isAtomic, kind }: JobRecord): boolean {
  return isAtomic && kind !== 'DELETE'
}

/** Returns whether a failure has made further work pointless. */
export function isPointless({ job, progress }: JobRun): boolean {
  return job.isAtomic && progress.hasFailed
}

/** Collects what a step does until it is committed. */
export class Tally implements StepResults {
  files = 0
  bytes = 0
  skipped = 0
  deleted = 0
  readonly failures: NewFailure[] = []
  unlisted = 0
  readonly copied: NewJobEntry[] = []
  readonly checks: LocationCheck[] = []
  /** The entries that a MOVE has moved. */
  readonly moved: EntryMove[] = []

  /** Counts a file that is done. */
  add(size: number | null): void {
    this.files += 1
    this.bytes += size ?? 0
  }

  /** Lists a failure or, if the report is full, only counts it. The work on its entry ends then: a retry begins with all files again. */
  fail({ progress, sources: [source] }: JobRun, failure: NewFailure): void {
    progress.hasFailed = true
    const hasRoom = progress.room > 0
    progress.room -= 1
    if (hasRoom) return void this.failures.push(failure)
    this.unlisted += 1
    if (progress.saysFull || !source) return
    progress.saysFull = true
    this.failures.push(fullReport(source))
  }

  /**
   * Runs the work on one entry, and retries it if its back end is overloaded or down, although it may have done the work.
   * If it fails, the job continues with the others and lists the failure.
   * @returns what the work returns, or undefined if it failed
   * @throws the errors that end the whole run: the reason of its signal, a lost lease
   */
  async attempt<T>(
    run: JobRun,
    entry: NewJobEntry & { id?: string },
    work: (isRetry: boolean) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await retryBackEnd(run.job, run.signal, entrySchedule)(work)
    } catch (error) {
      if (run.signal.aborted) throw run.signal.reason
      if (error instanceof LeaseLost) throw error
      const { reason, code, message } = toAppError(error)
      // A mutation that waits for the job responds without the cause.
      if (reason === 'INTERNAL' || (run.job.isAtomic && code === 'INTERNAL_SERVER_ERROR')) run.onError(error)
      this.fail(run, { ...entry, isStarted: true, reason, message })
      return undefined
    }
  }
}

/** The failure after which a report lists no others. A retry looks at all files again. */
export function fullReport({ providerId, path }: ReadLocation): NewFailure {
  const message = `More than ${maxFindings} files are not as they should be. The report counts all of them, and lists the first ones.`
  const at = { providerId, path: formatPath(path), targetPath: null, depth: 0, isNewTarget: false }
  return { ...at, state: 'SOURCE', isStarted: true, reason: 'TOO_LARGE', message }
}

/** Runs a step with a tally whose counts others see before it is committed. */
export async function withTally<T>(run: JobRun, step: (tally: Tally) => Promise<T>): Promise<T> {
  const tally = new Tally()
  run.progress.tallies.add(tally)
  try {
    const result = await step(tally)
    run.progress.tallies.delete(tally)
    return result
  } catch (error) {
    // Moved entries are gone from the source, so that no later run counts it.
    if (run.job.kind !== 'MOVE' || run.job.isAtomic) run.progress.tallies.delete(tally)
    throw error
  }
}

/**
 * Lets versions, stars, tags and comments follow what a step of a MOVE has moved, also those from while the job was running. Call it before the step
 * is stored. What was created at the earlier paths since the moves keeps its own.
 * @param versionsBefore excludes later versions, which files below a folder have got since they were moved
 */
export async function followMoves(
  { db }: JobRun,
  moves: readonly EntryMove[],
  versionsBefore: Date | null = null,
): Promise<void> {
  await moveVersions(db, moves, versionsBefore)
  await moveMarks(db, moves, null)
}

/** An earlier attempt of the job may have copied the entry. */
export interface Earlier {
  /** When the job began. */
  since: Date
  /** The job itself created the folder at the target, so what is in it is probably its own. */
  isInNewFolder: boolean
}

/** @param isRepeated whether an earlier attempt may have worked on the entry */
export function earlierOf({ job }: JobRun, { isNewTarget }: NewJobEntry, isRepeated: boolean): Earlier | null {
  return isRepeated ? { since: job.startedAt ?? job.createdAt, isInNewFolder: isNewTarget } : null
}

/** Finds the location of an entry below the sources. @throws NOT_FOUND */
export function sourceAt({ sources }: JobRun, entry: { providerId: string; path: string }): ReadLocation {
  const path = parsePath(entry.path)
  const source = sources.find(each => each.providerId === entry.providerId && isWithin(path, each.path))
  if (!source) throw new AppError('NOT_FOUND', `"${entry.path}" is not below a source of this job.`)
  return source.at(path)
}

/** Returns the location of a source that may be deleted. MOVE and DELETE are granted with the scope to write. */
export function writable(location: ReadLocation): WriteLocation {
  if (!(location instanceof WriteLocation)) throw new Error('The sources of this job are not writable')
  return location
}

export function targetAt({ target }: JobRun, path: string | null): WriteLocation {
  if (!target || path === null) throw new Error('This entry of a job has no target')
  return target.at(parsePath(path))
}

/**
 * Returns the function to call for every chunk that passes through this server, with its length in bytes. Its promise delays the chunk.
 * @param locations those that the chunks come from and go to
 */
export function passingBytes(
  { progress, limits, signal }: JobRun,
  ...locations: readonly ReadLocation[]
): (bytes: number) => Promise<unknown> | undefined {
  const providerIds = locations.map(({ providerId }) => providerId)
  return bytes => {
    progress.onBytes(bytes)
    return limits.pass(providerIds, bytes, signal)
  }
}

/** Joins a folder and a name that may be too long for a path. */
export function childPath(folder: StoragePath, name: string): string {
  return `${folder === '' ? '' : formatPath(folder)}/${name}`
}

// The progress of a run beyond what its steps have committed.

/** The weight of the latest measurement in the average rate. */
const smoothing = 0.3

export class RunProgress {
  #totals: Totals | null
  /** The tallies of the steps that are running. */
  readonly tallies = new Set<Totals>()
  #bytes = 0
  #measuredAt = performance.now()
  #rate = 0
  #isCountable = true
  /** Something has failed, in this run or in an earlier one. */
  hasFailed: boolean
  /** The number of findings that the report of a KEEP_COPIES has room for. */
  room = Number.POSITIVE_INFINITY
  /** Whether the report says that it has no room for all of them. */
  saysFull = false

  /** @param known the progress of earlier runs */
  constructor({ totalFiles, totalBytes, failed }: Pick<JobProgress, 'totalFiles' | 'totalBytes' | 'failed'>) {
    this.hasFailed = failed > 0
    this.#totals = totalFiles === null ? null : { files: totalFiles, bytes: totalBytes ?? 0 }
  }

  /** Null until everything is counted. */
  get totals(): Totals | null {
    return this.#isCountable ? this.#totals : null
  }

  set totals(totals: Totals) {
    this.#totals = totals
  }

  /** Call this if work has an unknown number of files, so that totals would say nothing. */
  forgetTotals(): void {
    this.#isCountable = false
  }

  /** Call this for every chunk that passes through this server, with its length in bytes. */
  readonly onBytes = (bytes: number): void => {
    this.#bytes += bytes
  }

  /** @param now as of `performance.now()` */
  measure(now: number): { bytesPerSecond: number; totals: Totals | null; pending: Totals } {
    const seconds = (now - this.#measuredAt) / 1000
    if (seconds > 0) {
      this.#rate += smoothing * (this.#bytes / seconds - this.#rate)
      this.#bytes = 0
      this.#measuredAt = now
    }
    const pending = { files: 0, bytes: 0 }
    for (const { files, bytes } of this.tallies) {
      pending.files += files
      pending.bytes += bytes
    }
    return { bytesPerSecond: this.#rate, totals: this.totals, pending }
  }
}
