/** Starts the work on a source as the job names it. */
import { formatPath, isWithin, nameOf, root } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { candidates, nameTaken, statOrNull, taken, unlessTaken } from '../files/conflict.ts'
import { requireOutside } from '../files/copying.ts'
import { type JobRun, type Tally, writable } from './job-run.ts'
import type { Earlier } from './policy.ts'
import { openFolder, type TargetFolder } from './target-folder.ts'
import { transferFile } from './transfer-file.ts'

interface JobSource {
  from: ReadLocation
  source: CheckedEntry
  to: WriteLocation
  earlier: Earlier | null
  /** False for an entry below a source of the job, which keeps its name. */
  mayRename: boolean
}

/** Moves in one step, or copies a file, or returns the folder at the target whose content is to follow. */
export async function transferSource(run: JobRun, tally: Tally, given: JobSource): Promise<TargetFolder | null> {
  const { from, source, to, mayRename } = given
  requireOutsideItself(run, given)
  if (source.kind === 'directory') requireOutside(source, from, run.targetFolders)
  const isRenamed = mayRename && run.job.conflict === 'RENAME' && run.job.kind !== 'SYNC' && !isContent(run, from)
  const seed = `${run.job.id}/${from.providerId}/${from.path}`
  for (const path of isRenamed ? candidates(to.path, source.kind, { seed }) : [to.path]) {
    const done = await transferTo(run, tally, given, run.target?.at(path) ?? to)
    if (done !== taken) return done
    if (!isRenamed) break
  }
  throw nameTaken(to.path)
}

async function transferTo(
  run: JobRun,
  tally: Tally,
  { from, source, earlier }: JobSource,
  to: WriteLocation,
): Promise<TargetFolder | null | typeof taken> {
  const { job, signal } = run
  const existing = await statOrNull(to, signal)
  if (!existing && job.kind === 'MOVE' && !job.dryRun) {
    const moved = await unlessTaken(() => writable(from).moveTo(to, signal, { overwrite: false, seen: source }))
    if (moved === taken) return taken
    if (moved) return countMoved(run, tally, source)
  }
  return unlessTaken(async () => {
    const isMerged = isContent(run, from)
    if (source.kind === 'directory') return openFolder(run, { source, folder: to, existing, earlier, isMerged })
    await run.limits.run([from.providerId, to.providerId], () =>
      transferFile(run, tally, { from, entry: source, to, existing, earlier }),
    )
    return null
  })
}

/** Returns whether only the content of the source goes to the target: that of a provider's root, unless it gets a name there. */
function isContent({ job }: JobRun, from: ReadLocation): boolean {
  return from.path === root && job.target?.name === undefined
}

/** A folder that is moved in one step counts as one file, because counting what is in it would take longer than moving it. */
export function countMoved({ progress }: JobRun, tally: Tally, { kind, size }: CheckedEntry): null {
  if (kind === 'directory') progress.forgetTotals()
  tally.add(size)
  return null
}

/** @throws INTO_ITSELF, NOT_A_FOLDER, ALREADY_EXISTS */
function requireOutsideItself({ job }: JobRun, { from, source, to }: JobSource): void {
  if (from.providerId !== to.providerId) return
  if (job.kind === 'SYNC' && isWithin(from.path, to.path)) {
    throw new AppError('INTO_ITSELF', `"${formatPath(from.path)}" lies in the folder that would become equal to it.`)
  }
  if (!isWithin(to.path, from.path)) return
  if (from.path === to.path) {
    if (job.conflict === 'RENAME') return
    throw new AppError('ALREADY_EXISTS', `"${formatPath(from.path)}" is in this folder already.`)
  }
  if (source.kind === 'file') throw new AppError('NOT_A_FOLDER', `"${nameOf(from.path)}" is a file.`)
  throw new AppError('INTO_ITSELF', `The folder "${nameOf(from.path)}" cannot go into itself.`)
}
