/** Moves by copying and then deleting, without losing data between any two back ends. */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatPath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull, type Taken, taken } from './conflict.ts'
import { type CopiedFile, type CopiedFolder, deleteIfEmpty, isUnchanged } from './copied.ts'
import { type CopyOptions, copyEntry } from './copying.ts'

/** Milliseconds: the coarsest modification time of a file system (FAT). S3 stores whole seconds. */
export const timeResolution = 2_000

/** Returns whether both are one stored object, even through different providers and paths. Hard links count as one. */
export function isSameObject(a: CheckedEntry, b: CheckedEntry): boolean {
  return a.fileId !== null && a.fileId === b.fileId
}

/** Moves an entry that no back end can move in one step. @throws COPY_ONLY, PRECONDITION_FAILED if the source changed meanwhile */
export async function copyAndDelete(
  source: WriteLocation,
  entry: CheckedEntry,
  destination: WriteLocation,
  overwrite: boolean,
  options: CopyOptions,
): Promise<CheckedEntry | Taken> {
  const { signal } = options
  const existing = await statOrNull(destination, signal)
  // Source and destination are the same object: there is nothing to do.
  if (existing && isSameObject(entry, existing)) return existing
  if (existing && !overwrite) return taken
  const isNewTime = entry.kind === 'file' && (await prepareDeletion(entry, source.path, existing, signal))
  const copied = await copyEntry(
    source,
    entry,
    { destination, existing, overwrite },
    { ...options, isNewTime, beforeFile: (file, from) => prepareDeletion(file, from.path, null, signal) },
  )
  if (copied === taken) return taken
  if (!(await deleteSource(source, copied.made, signal))) {
    throw new AppError(
      'PRECONDITION_FAILED',
      `"${formatPath(source.path)}" is copied, but entries that changed meanwhile or cannot be copied were not deleted from the source.`,
    )
  }
  // Source and destination were the same empty folder without an id to show it, so the folder has just been deleted.
  if ('isNew' in copied.made && !copied.made.isNew) await destination.mkdir(signal, { exclusive: false })
  return copied.entry
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

/** Deletes the source of a copied file. Returns false if the file changed or is its own copy. */
export async function deleteFile(
  file: WriteLocation,
  { seen, copy }: CopiedFile,
  signal: AbortSignal,
): Promise<boolean> {
  const now = await statOrNull(file, signal)
  if (!now) return true
  if (isSameObject(now, copy) || !isUnchanged(now, seen)) return false
  await file.delete(signal)
  return true
}

/** Deletes what was copied from the source, but nothing that was added or changed since. Returns whether all is deleted. */
async function deleteSource(
  source: WriteLocation,
  made: CopiedFile | CopiedFolder,
  signal: AbortSignal,
): Promise<boolean> {
  if ('seen' in made) return deleteFile(source, made, signal)
  let complete = true
  for (const file of made.files) {
    complete = (await deleteFile(source.child(file.seen.name), file, signal)) && complete
  }
  for (const [name, folder] of made.folders) {
    complete = (await deleteSource(source.child(name), folder, signal)) && complete
  }
  return (await deleteIfEmpty(source, signal)) && complete
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
