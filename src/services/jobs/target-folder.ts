import { formatPath } from '../../auth/path.ts'
import type { NewJobEntry } from '../../db/jobs/entries.ts'
import { AppError } from '../../errors.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { nameTaken, taken, unlessTaken } from '../files/conflict.ts'
import { isSameObject } from '../files/moving.ts'
import { children } from '../files/tree.ts'
import type { JobRun } from './job-run.ts'
import type { Earlier } from './policy.ts'

/** A folder at the target, as an entry of the job needs it. */
export type TargetFolder = Pick<NewJobEntry, 'state' | 'targetPath' | 'isNewTarget' | 'isStarted'>

interface FolderPair {
  source: CheckedEntry
  /** The folder at the target. */
  folder: WriteLocation
  existing: CheckedEntry | null
  earlier: Earlier | null
  /** Only the content of the source goes into the folder, which may exist. */
  isMerged: boolean
}

/**
 * Creates a folder at the target, or opens one that the job may add to.
 * @throws ALREADY_EXISTS, NOT_A_FOLDER, INTO_ITSELF
 */
export async function openFolder(run: JobRun, pair: FolderPair): Promise<TargetFolder> {
  const { job, signal, sourceFolders } = run
  const { source, folder, existing } = pair
  const targetPath = formatPath(folder.path)
  if (!existing) {
    const made = job.dryRun ? null : await unlessTaken(() => folder.mkdir(signal, { exclusive: true }))
    if (made === taken) throw nameTaken(folder.path)
    return { state: 'FOLDER', targetPath, isNewTarget: true }
  }
  if (existing.kind === 'file') throw new AppError('NOT_A_FOLDER', 'A folder does not replace a file.')
  if (job.kind === 'SYNC' && existing.fileId !== null && sourceFolders.has(existing.fileId)) {
    throw new AppError('INTO_ITSELF', 'The folder at the target contains a source of the job.')
  }
  if (isSameObject(source, existing)) {
    throw new AppError('ALREADY_EXISTS', `"${targetPath}" and its source are the same folder.`)
  }
  if (!(await mayAdd(run, pair))) throw nameTaken(folder.path)
  const { earlier } = pair
  return { state: 'FOLDER', targetPath, isNewTarget: earlier?.isInNewFolder === true, isStarted: earlier !== null }
}

/** Returns whether the job may add to an existing folder. Nothing is lost if it adds to an empty one. */
async function mayAdd({ job, signal }: JobRun, { folder, earlier, isMerged }: FolderPair): Promise<boolean> {
  if (isMerged || job.kind === 'SYNC' || (job.conflict !== 'FAIL' && job.conflict !== 'RENAME')) return true
  return earlier !== null && (earlier.isInNewFolder || (await isEmpty(folder, signal)))
}

async function isEmpty(folder: WriteLocation, signal: AbortSignal): Promise<boolean> {
  for await (const _entry of children(folder, signal)) return false
  return true
}
