/** Copies one file, compares the copy with its source, and moves by copying and then deleting. */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatPath, nameOf } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import { exactBody } from '../../storage/body-streams.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import { type CheckedEntry, fault, keepsTime, timeToKeep } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull, type Taken, taken, unlessTaken } from './conflict.ts'
import { PassingContent } from './passing-content.ts'

interface FileCopyOptions {
  signal: AbortSignal
  overwrite: boolean
  /** True if a copied file must not keep the time of its source: see `prepareDeletion`. */
  isNewTime?: boolean | undefined
  /** Is called for every chunk that passes through this server, with its length in bytes. A promise delays the chunk. */
  onBytes?: (bytes: number) => Promise<unknown> | undefined
  /**
   * Is called with the SHA-256 after the last byte, before the copy becomes visible. If it throws, there is no copy. Only for copies between
   * two providers.
   */
  verify?: (sha256: Buffer | null) => Promise<void>
}

/**
 * Copies one file within the back end if it supports that, otherwise through this server. Keeps its time where possible,
 * and compares the checksums that both sides have, and the bytes with what is known of the source.
 * @throws BACK_END_FAULT if they differ; DAMAGED if the source is damaged
 */
export async function copyFile(
  source: ReadLocation,
  seen: CheckedEntry,
  destination: WriteLocation,
  { overwrite, signal, isNewTime = false, onBytes, verify }: FileCopyOptions,
): Promise<CopiedFile | Taken> {
  const copied =
    isNewTime && keepsTime(destination, seen)
      ? null
      : await unlessTaken(() => destination.copyFrom(source, signal, { overwrite, seen }))
  if (copied === taken) return taken
  if (copied) {
    await requireCopied(source, seen, destination, copied, { isDeletable: !isNewTime, signal })
    return { seen, copy: copied, sha256: null }
  }
  const { body, entry } = await source.read(signal, { seen })
  const passing = new PassingContent(source, entry, destination, { isHashed: verify !== undefined })
  const onChunk = (bytes: Uint8Array) => {
    passing.update(bytes)
    return onBytes?.(bytes.length)
  }
  const modifiedAt = isNewTime ? undefined : timeToKeep(entry)
  try {
    const copy = await unlessTaken(() =>
      destination.write(
        signal,
        exactBody(body, entry.size, onChunk, async () => {
          await passing.check(signal)
          await verify?.(passing.sha256)
        }),
        {
          overwrite,
          ...(entry.size !== null && { size: entry.size }),
          ...(entry.mimeType !== null && { mimeType: entry.mimeType }),
          ...(modifiedAt && { modifiedAt }),
          sha256: () => passing.sha256,
        },
      ),
    )
    if (copy === taken) return taken
    await requireStored(destination, copy, new Map([...passing.sums, ...sumsOf(entry)]), { isNew: !isNewTime })
    return { seen, copy, sha256: passing.sha256 }
  } finally {
    body.destroy()
  }
}

/**
 * Compares the checksums of a file and its copy, which the back end made.
 * @param seen the entry of the source before the copy
 * @param options.isDeletable whether a damaged copy is deleted, even if it replaced a file. The source still has the content,
 * so it must not be the copy itself.
 * @throws BACK_END_FAULT if they differ
 */
export async function requireCopied(
  source: ReadLocation,
  seen: CheckedEntry,
  destination: WriteLocation,
  copied: CheckedEntry,
  { isDeletable, signal }: { isDeletable: boolean; signal: AbortSignal },
): Promise<void> {
  const isOther = !hasSameChecksums(copied, seen)
  // The back end may have copied a version that is newer than the listing.
  const version = (isOther && (await statOrNull(source, signal))) || seen
  await requireStored(destination, copied, sumsOf(version), { isNew: isDeletable })
}

/** Returns whether all checksums that both have are equal. */
export function hasSameChecksums(copy: CheckedEntry, seen: CheckedEntry): boolean {
  const others: Readonly<Record<string, string>> = seen.checksums
  return Object.entries(copy.checksums).every(([name, sum]) => (others[name] ?? sum) === sum)
}

function sumsOf({ checksums }: CheckedEntry): ReadonlyMap<string, string> {
  return new Map(Object.entries(checksums))
}

/** @throws INTO_ITSELF if the destination of a copy is inside this folder of its source */
export function requireOutside(folder: CheckedEntry, from: ReadLocation, enclosing: ReadonlySet<string>): void {
  if (folder.fileId === null || !enclosing.has(folder.fileId)) return
  throw new AppError(
    'INTO_ITSELF',
    `The destination lies in the folder "${nameOf(from.path)}", which cannot go into itself.`,
  )
}

// A move by copying and then deleting loses no data between any two back ends.

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
  return moveCopy(source, entry, destination, { overwrite, signal, isNewTime })
}

/** Copies a file and deletes it, after `prepareDeletion`. @throws PRECONDITION_FAILED if the source changed meanwhile */
export async function moveCopy(
  source: WriteLocation,
  entry: CheckedEntry,
  destination: WriteLocation,
  options: FileCopyOptions,
): Promise<CheckedEntry | Taken> {
  const moved = await destination.movedFrom(source, entry.size, async (from, to) => {
    const copied = await copyFile(from, entry, to, options)
    if (copied === taken) return null
    await deleteSource(from, copied, options.signal)
    return copied.copy
  })
  return moved ?? taken
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

// The entries that a copy has created are compared later, to undo the copy or to delete its source.

/** The facts that show whether a file was changed or replaced. */
export type FileVersion = Pick<CheckedEntry, 'size' | 'etag' | 'modifiedAt' | 'fileId'>

/** A copied file. */
interface CopiedFile {
  /** The entry of the source before the copy. */
  seen: CheckedEntry
  /** The entry of the copy. */
  copy: CheckedEntry
  /** The checksum of the bytes that passed; null if it was not computed. */
  sha256: Buffer | null
}

/** Deletes a file. Its content stays as an earlier version if the provider keeps versions. */
export async function deleteFile(file: WriteLocation, seen: CheckedEntry, signal: AbortSignal): Promise<void> {
  const isKept = await file.deleteToVersions(signal, async (version, going) => {
    const moved = await going.moveTo(version, signal, { overwrite: true, seen })
    const options = { existing: null, overwrite: true, signal }
    return moved ?? ((await copyAndDelete(going, seen, version, options)) as CheckedEntry)
  })
  if (!isKept) await file.delete(signal, seen)
}

/** Deletes a file unless it was replaced or changed meanwhile. */
export async function deleteUnchanged(file: WriteLocation, seen: FileVersion, signal: AbortSignal): Promise<void> {
  const now = await statOrNull(file, signal)
  if (now && isUnchanged(now, seen)) await file.delete(signal, now)
}

function isUnchanged(now: CheckedEntry, seen: FileVersion): boolean {
  if (now.kind !== 'file' || now.size !== seen.size || now.etag !== seen.etag) return false
  // A write does not always return the time of the file.
  if (seen.modifiedAt === null && seen.etag !== null) return true
  return now.modifiedAt?.getTime() === seen.modifiedAt?.getTime()
}

/** Returns false if the folder is not empty. */
export async function deleteIfEmpty(folder: WriteLocation, signal: AbortSignal): Promise<boolean> {
  try {
    await folder.delete(signal)
    return true
  } catch (error) {
    if (error instanceof AppError && error.reason === 'NOT_EMPTY') return false
    throw error
  }
}

/** Milliseconds to delete a corrupt file. The client may have disconnected, so its signal is not used. */
const undoTimeout = 30_000

/**
 * Compares what a back end stored with what it was sent, by every checksum that both sides have. Deletes a new file that
 * differs. A file that replaced another is kept for inspection.
 * @throws BACK_END_FAULT
 */
export async function requireStored(
  location: WriteLocation,
  stored: CheckedEntry,
  sent: ReadonlyMap<string, string>,
  { isNew }: { isNew: boolean },
): Promise<void> {
  const wrong = differing(stored, sent)
  if (wrong.length === 0) return
  // The checksum error matters more than an error of the deletion.
  if (isNew) await deleteUnchanged(location, stored, AbortSignal.timeout(undoTimeout)).catch(() => {})
  throw fault(`another ${wrong.join(' and ')} than that of the bytes that were sent`)
}

/** Returns the checksums that both sides have and that differ. */
function differing({ checksums }: CheckedEntry, sent: ReadonlyMap<string, string>): string[] {
  return Object.entries(checksums).flatMap(([name, hex]) => (sent.has(name) && sent.get(name) !== hex ? [name] : []))
}
