/** Work on a whole folder, which a job does. The services of jobs implement it, because they use those of files. */
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { type Taken, taken, unlessTaken } from './conflict.ts'
import { children } from './tree.ts'

export interface FolderWork {
  kind: 'COPY' | 'MOVE' | 'DELETE'
  /** Whether a DELETE moves nothing to the trash. */
  permanent?: boolean
  source: ReadLocation
  /** The empty folder that the content goes into, and whether it was created for that; null for DELETE. */
  target: { folder: WriteLocation; isNew: boolean } | null
}

export interface FolderJobs {
  /** Starts a job, and returns its id. If it cannot, deletes a target folder that is new. @throws TOO_MANY_JOBS */
  start(viewer: Viewer | null, work: FolderWork): Promise<string>
  /** Waits for the end of a job, which goes on if the signal aborts. @throws the reason why it failed */
  finish(id: string, signal: AbortSignal): Promise<void>
}

/** Runs work to its end. Returns the id of its job. */
export type RunOnFolder = (work: FolderWork, signal: AbortSignal) => Promise<string>

/**
 * Copies or moves a folder. REPLACE never deletes the content of a folder, so the existing folder has to be empty.
 * @throws NOT_EMPTY, NOT_A_FOLDER, the reason why the job failed
 */
export async function transferFolder(
  kind: 'COPY' | 'MOVE',
  source: ReadLocation,
  { folder, existing }: { folder: WriteLocation; existing: CheckedEntry | null },
  { run, signal }: { run: RunOnFolder; signal: AbortSignal },
): Promise<CheckedEntry | Taken> {
  if (existing) await requireEmptyFolder(folder, existing, signal)
  else if ((await unlessTaken(() => folder.mkdir(signal, { exclusive: true }))) === taken) return taken
  await run({ kind, source, target: { folder, isNew: !existing } }, signal)
  return folder.stat(signal)
}

/** Requires that an entry of a kind may replace the one at a location. @throws NOT_A_FILE, NOT_A_FOLDER, NOT_EMPTY */
export async function requireReplaceable(
  kind: CheckedEntry['kind'],
  location: WriteLocation,
  existing: CheckedEntry,
  signal: AbortSignal,
): Promise<void> {
  if (kind === 'directory') return requireEmptyFolder(location, existing, signal)
  if (existing.kind === 'directory') throw new AppError('NOT_A_FILE', 'A file does not replace a folder.')
}

async function requireEmptyFolder(folder: WriteLocation, existing: CheckedEntry, signal: AbortSignal): Promise<void> {
  if (existing.kind === 'file') throw new AppError('NOT_A_FOLDER', 'A folder does not replace a file.')
  for await (const _entry of children(folder, signal)) throw new AppError('NOT_EMPTY')
}
