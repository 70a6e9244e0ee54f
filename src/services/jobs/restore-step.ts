/** The steps of a RESTORE, and how it compares them with the entries that are there. */
import { formatPath, type StoragePath, segmentsOf } from '../../auth/path.ts'
import type { NewJobEntry } from '../../db/jobs/entries.ts'
import type { Restorable } from '../../db/restorable.ts'
import type { RestoreStep, SeenEntry } from '../../db/schema.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { JobRun, Tally } from './job-run.ts'

export function timeOf({ job }: JobRun): Date {
  if (!job.restoreAt) throw new Error('This job has no time whose state comes back')
  return job.restoreAt
}

/** A step on a path. A folder comes before the files below it, because versions of these replace what comes back with the folder. */
export function stepAt({ job }: JobRun, providerId: string, path: StoragePath): NewJobEntry {
  return {
    // A dry run only shows its steps.
    state: job.dryRun ? 'KEPT' : 'LISTED',
    providerId,
    path: formatPath(path),
    targetPath: null,
    depth: segmentsOf(path).length,
    isNewTarget: false,
  }
}

export function seenOf({ kind, size, etag, modifiedAt }: CheckedEntry): SeenEntry {
  return { kind, size, etag, modifiedAt: modifiedAt?.getTime() ?? null }
}

/** Returns whether a file seems to have this content: an earlier attempt, or another RESTORE, has brought it back. */
export function isContent(
  file: CheckedEntry,
  { size, modifiedAt, etag }: Pick<Restorable, 'size' | 'modifiedAt' | 'etag'>,
): boolean {
  if (file.kind !== 'file' || size === null || file.size !== size) return false
  if (etag !== null && file.etag === etag) return true
  // Whole seconds are the times of back ends that know no fractions, where two writes within a second have the same time.
  const isExact = modifiedAt !== null && modifiedAt.getMilliseconds() !== 0
  return isExact && file.modifiedAt?.getTime() === modifiedAt.getTime()
}

/** A file without a time, or with an older one, may have been there. */
export function isNewer(run: JobRun, { kind, modifiedAt }: CheckedEntry): boolean {
  return kind === 'file' && modifiedAt !== null && modifiedAt > timeOf(run)
}

/** Whether a file may have been stored since, although a back end that knows only whole seconds shows an older time. */
export function mayBeNewer(run: JobRun, { kind, modifiedAt }: CheckedEntry): boolean {
  if (kind !== 'file' || modifiedAt === null) return false
  const latest = modifiedAt.getTime() + (modifiedAt.getMilliseconds() === 0 ? 999 : 0)
  return latest > timeOf(run).getTime()
}

/** The content that a step brings back. */
export function contentOf({ size, etag, modifiedAt }: RestoreStep) {
  return { size, etag, modifiedAt: modifiedAt === null ? null : new Date(modifiedAt) }
}

export function countPlanned({ job }: JobRun, tally: Tally, steps: readonly NewJobEntry[]): void {
  if (!job.dryRun) return
  for (const { restores } of steps) {
    if (restores?.action === 'DELETE') tally.deleted += 1
    else if (restores) tally.add(restores.size)
  }
}
