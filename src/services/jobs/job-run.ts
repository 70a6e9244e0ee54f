/** The state that all steps of one run of a job share. */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatPath, isWithin, parsePath, type StoragePath } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import { type Done, LeaseLost, type RunId } from '../../db/jobs/entries.ts'
import type { NewFailure } from '../../db/jobs/failures.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import type { JobEntryState } from '../../db/schema.ts'
import { AppError, reasons, toAppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import { WriteLocation } from '../../storage/write-location.ts'
import type { RunProgress } from './progress.ts'
import type { ProviderLimits } from './provider-limits.ts'

export interface JobRun extends RunId {
  db: Database
  job: JobRecord
  /** Aborts on a pause, a cancellation, a lost lease, and the end of a grant. */
  signal: AbortSignal
  /** The locations of the sources, as the policy has granted them. */
  sources: readonly ReadLocation[]
  /** The folder that the sources go into; null for DELETE. */
  target: WriteLocation | null
  /** Ids of the target and of the folders that contain it. Copying one of them into the target would never end. */
  targetFolders: ReadonlySet<string>
  /** Ids of the sources and of the folders that contain them. A SYNC never deletes them. */
  sourceFolders: ReadonlySet<string>
  /** Bounds the files that are worked on at once, and the bytes that pass through this server. */
  limits: ProviderLimits
  progress: RunProgress
  /** For errors that are faults of the server. */
  onError(error: unknown): void
}

/** Milliseconds to wait before each retry of an entry whose back end is overloaded or down. */
const retryDelays = [500, 2000, 8000]

/** An entry that a failure names, with the entry that a retry has to work on. */
export interface FailingEntry {
  state: JobEntryState
  providerId: string
  /** Formatted. This path may be longer than any valid path. */
  path: string
  targetPath: string | null
  depth: number
}

/** Collects what a step does until it is committed. */
export class Tally implements Done {
  files = 0
  bytes = 0
  skipped = 0
  deleted = 0
  readonly failures: NewFailure[] = []

  /** Counts a file that is done. */
  add(size: number | null): void {
    this.files += 1
    this.bytes += size ?? 0
  }

  /**
   * Runs the work on one entry, and retries it if its back end is overloaded or down. If it fails, the job continues
   * with the others and lists the failure.
   * @returns what the work returns, or undefined if it failed
   * @throws the errors that end the whole run: the reason of its signal, a lost lease
   */
  async attempt<T>(run: JobRun, entry: FailingEntry, work: () => Promise<T>): Promise<T | undefined> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await work()
      } catch (error) {
        if (run.signal.aborted) throw run.signal.reason
        if (error instanceof LeaseLost) throw error
        const failure = toAppError(error)
        const delay = reasons[failure.reason].retryable ? retryDelays[tries] : undefined
        if (delay === undefined) {
          if (failure.reason === 'INTERNAL') run.onError(error)
          this.failures.push({ ...entry, reason: failure.reason, message: failure.message })
          return undefined
        }
        await sleep(Math.max(delay, Math.min(failure.retryAfterMs ?? 0, 30_000)), undefined, { signal: run.signal })
      }
    }
  }
}

/** Runs a step with a tally whose counts others see before it is committed. */
export async function withTally<T>(run: JobRun, step: (tally: Tally) => Promise<T>): Promise<T> {
  const tally = new Tally()
  run.progress.tallies.add(tally)
  try {
    return await step(tally)
  } finally {
    run.progress.tallies.delete(tally)
  }
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

/** Joins a folder and a name that may be too long for a path. */
export function childPath(folder: StoragePath, name: string): string {
  return `${folder === '' ? '' : formatPath(folder)}/${name}`
}
