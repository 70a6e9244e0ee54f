/** A move by copy and delete: no byte is lost, whatever the two ends are. */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatPath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import type { ReadLocation, WriteLocation } from '../../storage/location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { statOrNull, type Taken, taken } from './conflict.ts'
import { type CopiedFile, type CopiedFolder, deleteIfEmpty, isUnchanged } from './copied.ts'
import { type CopyOptions, copyEntry } from './copying.ts'

/** Milliseconds: the coarsest modification time that a file system keeps (FAT). S3 keeps one second. */
const timeResolution = 2_000

/** Whether both are one stored object, under whatever providers and paths. A hard link counts as the same file. */
export function isSameObject(a: CheckedEntry, b: CheckedEntry): boolean {
  return a.fileId !== null && a.fileId === b.fileId
}

/** Where no back end moves it in one step. @throws COPY_ONLY, PRECONDITION_FAILED where the source changed meanwhile */
export async function copyAndDelete(
  source: WriteLocation,
  entry: CheckedEntry,
  target: WriteLocation,
  overwrite: boolean,
  options: CopyOptions,
): Promise<CheckedEntry | Taken> {
  const { signal } = options
  const existing = await statOrNull(target, signal)
  // It is where it should be, by another path.
  if (existing && isSameObject(entry, existing)) return existing
  if (existing && !overwrite) return taken
  if (entry.kind === 'file') await prepareDeletion(entry, source.path, existing, signal)
  const copied = await copyEntry(
    source,
    entry,
    { target, existing, overwrite },
    { ...options, beforeFile: (file, from) => prepareDeletion(file, from.path, null, signal) },
  )
  if (copied === taken) return taken
  if (!(await deleteSource(source, copied.made, signal))) {
    throw new AppError(
      'PRECONDITION_FAILED',
      `"${formatPath(source.path)}" is copied, but what changed meanwhile or cannot be copied was left where it is.`,
    )
  }
  // Source and target were one empty folder, and nothing told so.
  if ('isNew' in copied.made && !copied.made.isNew) await target.mkdir(signal, { exclusive: false })
  return copied.entry
}

/**
 * To be awaited before a file is read whose source is deleted afterwards. From then on any write to it shows in its time or
 * its etag, also the write of its own copy where source and target are one file and no id says so: two addresses of one
 * server, two mounts of one network file system.
 *
 * @param replaced what stands at the target
 * @throws COPY_ONLY
 */
async function prepareDeletion(
  file: CheckedEntry,
  path: ReadLocation['path'],
  replaced: CheckedEntry | null,
  signal: AbortSignal,
): Promise<void> {
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
  // The clocks of the two back ends may differ from ours, so only time that passes here is sure.
  if (mayBeItself) await wait(timeResolution, signal)
  else if (file.etag === null) await wait(timeResolution - (Date.now() - Number(file.modifiedAt)), signal)
}

/** The second half of a move. False where the file is not what it was, or is its own copy. */
async function deleteFile(file: WriteLocation, { seen, copy }: CopiedFile, signal: AbortSignal): Promise<boolean> {
  const now = await statOrNull(file, signal)
  if (!now) return true
  if (isSameObject(now, copy) || !isUnchanged(now, seen)) return false
  await file.delete(signal)
  return true
}

/** Removes from the source what was copied, and nothing that came or changed since. True where all is gone. */
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

/** Whether size and time tell two files apart; back ends keep times more or less finely. */
function looksLike(a: CheckedEntry, b: CheckedEntry): boolean {
  if (a.size !== null && b.size !== null && a.size !== b.size) return false
  if (a.modifiedAt === null || b.modifiedAt === null) return true
  return Math.abs(a.modifiedAt.getTime() - b.modifiedAt.getTime()) < timeResolution
}

/** Milliseconds; never longer than the resolution, whatever the clocks say. */
async function wait(time: number, signal: AbortSignal): Promise<void> {
  if (time <= 0) return
  await sleep(Math.min(time, timeResolution), undefined, { signal }).catch(() => {
    throw signal.reason
  })
}
