/** Copies the small files of one page of a folder together, where the back end is faster that way. */
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { requireCopied } from '../files/copying.ts'
import { smallBytes } from '../files/opened.ts'
import { copiedEntry } from './copied-entry.ts'
import type { FolderNames } from './folder-names.ts'
import { isPointless, type JobRun, keepsAllOrNone, type Tally } from './job-run.ts'

/** The number of files that are copied together. */
const batchSize = 64

interface BatchFolders {
  from: ReadLocation
  to: WriteLocation
  /** The names that the target has. */
  names: FolderNames
}

/** Copies a file together with others. Returns false if it has to be copied by itself. */
type CopySmall = (tally: Tally, file: CheckedEntry) => Promise<boolean>

/** Starts the copies of the files whose names are free at the target. */
export function startSmallCopies(
  run: JobRun,
  { from, to, names }: BatchFolders,
  entries: readonly CheckedEntry[],
): CopySmall {
  const { job } = run
  if (job.kind === 'MOVE' || job.dryRun || !to.canCopySmallFrom(from)) return async () => false
  const files = entries.filter(({ name, size }) => size !== null && size <= smallBytes && names.isFree(name))
  const copies = new Map<string, { batch: Promise<readonly (CheckedEntry | null)[]>; index: number }>()
  for (let start = 0; start < files.length; start += batchSize) {
    const together = files.slice(start, start + batchSize).map(({ name }) => name)
    const batch = copyTogether(run, from, to, together)
    // Each file reports the error.
    batch.catch(() => {})
    for (const [index, name] of together.entries()) copies.set(name, { batch, index })
  }
  return async (tally, file) => {
    const started = copies.get(file.name)
    const copy = started && (await started.batch)[started.index]
    if (!copy) return false
    const [source, target] = [from.child(file.name), to.child(file.name)]
    await requireCopied(source, file, target, copy, { isDeletable: true, signal: run.signal })
    if (keepsAllOrNone(job)) tally.copied.push(copiedEntry(source, target, { seen: file, copy }))
    tally.add(file.size)
    return true
  }
}

/** A batch counts as one file of the limits, because the back end copies one file of it after the other. */
function copyTogether(
  run: JobRun,
  from: ReadLocation,
  to: WriteLocation,
  names: readonly string[],
): Promise<readonly (CheckedEntry | null)[]> {
  return run.limits.run([from.providerId, to.providerId], async () => {
    run.signal.throwIfAborted()
    return isPointless(run) ? [] : ((await to.copySmallFrom(from, names, run.signal)) ?? [])
  })
}
