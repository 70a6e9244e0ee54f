import { formatPath } from '../../auth/path.ts'
import type { NewJobEntry } from '../../db/jobs/entries.ts'
import { AppError } from '../../errors.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { nameTaken } from '../files/conflict.ts'
import { children } from '../files/tree.ts'
import type { JobRun } from './job-run.ts'

/** A folder at the target, as an entry of the job needs it. */
export type TargetFolder = Pick<NewJobEntry, 'state' | 'targetPath' | 'isNewTarget'>

/**
 * Creates a folder at the target, or opens one that the job may add to.
 * @param isRepeated an interrupted run may have created the folder; nothing is lost if the job adds to an empty one
 * @param isMerged the source is the root of a provider, whose content always goes into the folder
 * @throws ALREADY_EXISTS, NOT_A_FOLDER, INTO_ITSELF
 */
export async function openFolder(
  { job, signal, sourceFolders }: JobRun,
  {
    folder,
    existing,
    isRepeated,
    isMerged,
  }: { folder: WriteLocation; existing: CheckedEntry | null; isRepeated: boolean; isMerged: boolean },
): Promise<TargetFolder> {
  const targetPath = formatPath(folder.path)
  if (!existing) {
    if (!job.dryRun) await folder.mkdir(signal, { exclusive: true })
    return { state: 'FOLDER', targetPath, isNewTarget: true }
  }
  if (existing.kind === 'file') throw new AppError('NOT_A_FOLDER', 'A folder does not replace a file.')
  if (job.kind === 'SYNC' && existing.fileId !== null && sourceFolders.has(existing.fileId)) {
    throw new AppError('INTO_ITSELF', 'The folder at the target contains a source of the job.')
  }
  const isAdding = isMerged || job.kind === 'SYNC' || (job.conflict !== 'FAIL' && job.conflict !== 'RENAME')
  if (!isAdding && !(isRepeated && (await isEmpty(folder, signal)))) throw nameTaken(folder.path)
  return { state: 'FOLDER', targetPath, isNewTarget: false }
}

async function isEmpty(folder: WriteLocation, signal: AbortSignal): Promise<boolean> {
  for await (const _entry of children(folder, signal)) return false
  return true
}
