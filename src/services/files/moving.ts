/** Moves by copying and then deleting, without losing data between any two back ends. */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatPath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull, type Taken, taken } from './conflict.ts'
import { type FileVersion, isUnchanged } from './copied.ts'
import { copyFile } from './copying.ts'

/** Milliseconds: the coarsest modification time of a file system (FAT). S3 stores whole seconds. */
export const timeResolution = 2_000

/** Returns whether both are one stored object, even through different providers and paths. Hard links count as one. */
export function isSameObject(a: Pick<FileVersion, 'fileId'>, b: Pick<FileVersion, 'fileId'>): boolean {
  return a.fileId !== null && a.fileId === b.fileId
}

/** Moves a file that no back end can move in one step. @throws COPY_ONLY, PRECONDITION_FAILED if the source changed meanwhile */
export async function copyAndDelete(
  source: WriteLocation,
  entry: CheckedEntry,
  destination: WriteLocation,
  { existing, overwrite, signal }: { existing: CheckedEntry | null; overwrite: boolean; signal: AbortSignal },
): Promise<CheckedEntry | Taken> {
  const isNewTime = await prepareDeletion(entry, source.path, existing, signal)
  const copied = await copyFile(source, entry, destination, { overwrite, signal, isNewTime })
  if (copied === taken) return taken
  await deleteSource(source, copied, signal)
  return copied.copy
}

/**
 * Await this before reading a file that will be deleted after the copy. From then on, any write to the file changes its
 * time or etag. That includes writing the copy, if source and destination are one file without an id to show it (two
 * addresses of one server, two mounts of one network file system).
 *
 * @param replaced the entry at the destination
 * @returns whether the copy must get a new time, because it may be a write to the file itself
 * @throws COPY_ONLY
 */
export async function prepareDeletion(
  file: CheckedEntry,
  path: ReadLocation['path'],
  replaced: CheckedEntry | null,
  signal: AbortSignal,
): Promise<boolean> {
  const name = `"${formatPath(path)}"`
  if (file.isExport) {
    const message = `${name} is exported when it is read, so moving it would lose the original: copy it instead.`
    throw new AppError('COPY_ONLY', message)
  }
  const mayBeItself = replaced?.kind === 'file' && looksLike(file, replaced)
  if (file.modifiedAt === null && (file.etag === null || mayBeItself)) {
    const message = `The storage does not say when ${name} changed, so it cannot be moved safely: copy it instead.`
    throw new AppError('COPY_ONLY', message)
  }
  // The back ends' clocks may differ from this one, so only waiting here is reliable.
  if (mayBeItself) await wait(timeResolution, signal)
  else if (file.etag === null) await wait(timeResolution - (Date.now() - Number(file.modifiedAt)), signal)
  return mayBeItself
}

/** Deletes the source of a copied file. @throws PRECONDITION_FAILED if it has changed or is its own copy */
export async function deleteSource(
  file: WriteLocation,
  { seen, copy }: { seen: FileVersion; copy: FileVersion },
  signal: AbortSignal,
): Promise<void> {
  const now = await statOrNull(file, signal)
  if (!now) return
  if (isSameObject(now, copy) || !isUnchanged(now, seen)) {
    const message = `"${formatPath(file.path)}" is copied, but it changed meanwhile or is the copy itself, so it was not deleted.`
    throw new AppError('PRECONDITION_FAILED', message)
  }
  await file.delete(signal, now)
}

/** Returns whether size and time could belong to one file. Back ends store times with different precision. */
function looksLike(a: CheckedEntry, b: CheckedEntry): boolean {
  if (a.size !== null && b.size !== null && a.size !== b.size) return false
  if (a.modifiedAt === null || b.modifiedAt === null) return true
  return Math.abs(a.modifiedAt.getTime() - b.modifiedAt.getTime()) < timeResolution
}

/** Waits `time` milliseconds, but never longer than the resolution, in case the clocks differ. */
async function wait(time: number, signal: AbortSignal): Promise<void> {
  if (time <= 0) return
  await sleep(Math.min(time, timeResolution), undefined, { signal }).catch(() => {
    throw signal.reason
  })
}
