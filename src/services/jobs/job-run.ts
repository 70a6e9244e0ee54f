/** The state that all steps of one run of a job share. */
import { formatPath, parsePath } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import { type Done, LeaseLost } from '../../db/jobs/entries.ts'
import type { NewFailure } from '../../db/jobs/failures.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import { AppError, toAppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import { WriteLocation } from '../../storage/write-location.ts'
import type { Limiter } from './limiter.ts'

export interface JobRun {
  db: Database
  job: JobRecord
  /** The id of the lease. */
  lease: string
  /** Aborts on a pause, a cancellation, a lost lease, and the end of a grant. */
  signal: AbortSignal
  /** The locations of the sources, as the policy has granted them. */
  sources: readonly ReadLocation[]
  /** The folder that the sources go into; null for DELETE. */
  target: WriteLocation | null
  /** Ids of the target and of the folders that contain it. A source that contains one of them would never end. */
  enclosing: ReadonlySet<string>
  /** Bounds the files that are worked on at once. */
  files: Limiter
  /** Call this for every chunk that passes through this server, with its length in bytes. */
  onBytes(bytes: number): void
}

/** Collects what a step does until it is committed. */
export class Tally implements Done {
  files = 0
  bytes = 0
  skipped = 0
  deleted = 0
  readonly failures: NewFailure[] = []

  /**
   * Runs the work on one entry. If it fails, the job continues with the others and lists the failure.
   * @throws the errors that end the whole run: the reason of its signal, a lost lease
   */
  async attempt(run: JobRun, from: ReadLocation, to: ReadLocation | null, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (run.signal.aborted || error instanceof LeaseLost) throw error
      const { reason, message } = toAppError(error)
      const path = formatPath(from.path)
      this.failures.push({ providerId: from.providerId, path, targetPath: to && formatPath(to.path), reason, message })
    }
  }
}

/** Finds the location of an entry below the sources. */
export function sourceAt({ sources }: JobRun, entry: { providerId: string; path: string }): ReadLocation {
  const path = parsePath(entry.path)
  for (const source of sources) {
    if (source.providerId !== entry.providerId) continue
    try {
      return source.at(path)
    } catch (error) {
      if (!(error instanceof AppError) || error.reason !== 'OUTSIDE_BASE_PATH') throw error
    }
  }
  throw new AppError('NOT_FOUND', `"${entry.path}" is not below a source of this job.`)
}

/** Returns the location of a source that may be deleted. MOVE and DELETE are granted with the scope to write. */
export function writable(location: ReadLocation): WriteLocation {
  if (!(location instanceof WriteLocation)) throw new Error('The sources of this job are not writable')
  return location
}

export function targetAt({ target }: JobRun, path: string): WriteLocation {
  if (!target) throw new Error('This job has no target')
  return target.at(parsePath(path))
}
