/** Copies files and folders. */
import { createHash } from 'node:crypto'
import { formatPath, nameOf } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import { exactBody } from '../../storage/exact-body.ts'
import { keepsTime, timeToKeep } from '../../storage/kept-time.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull, type Taken, taken, unlessTaken } from './conflict.ts'
import { type CopiedFile, type CopiedFolder, undoCopy } from './copied.ts'
import { children, requireDepth } from './tree.ts'
import { differing, requireStored } from './verify-stored.ts'

/** Milliseconds for undoing a copy after its request was canceled. */
const undoTimeout = 60_000

export interface CopyOptions {
  signal: AbortSignal
  /** Ids of the folders that contain the destination. A copy that found one of them in its source would never end. */
  enclosing: ReadonlySet<string>
  /** Runs before a file is read. A move rejects files here that it could not delete afterwards. */
  beforeFile?(file: CheckedEntry, from: ReadLocation): Promise<unknown>
  /** True if a copied file must not keep the time of its source: see `prepareDeletion`. */
  isNewTime?: boolean
}

export interface Destination {
  destination: WriteLocation
  /** The entry at the destination, if any. */
  existing: CheckedEntry | null
  overwrite: boolean
}

export interface Copied {
  entry: CheckedEntry
  made: CopiedFile | CopiedFolder
}

/** Copies an entry. A copy that fails is undone, except for what others added or changed meanwhile. */
export async function copyEntry(
  source: ReadLocation,
  entry: CheckedEntry,
  { destination, existing, overwrite }: Destination,
  options: CopyOptions,
): Promise<Copied | Taken> {
  const { signal, isNewTime } = options
  if (existing && !overwrite) return taken
  if (entry.kind === 'file') {
    const made = await copyFile(source, entry, destination, { overwrite, signal, isNewTime })
    return made === taken ? taken : { entry: made.copy, made }
  }
  const made: CopiedFolder = { isNew: !existing, files: [], folders: new Map() }
  if (existing) await requireEmptyFolder(destination, existing, signal)
  else if ((await unlessTaken(() => destination.mkdir(signal, { exclusive: true }))) === taken) return taken
  try {
    await copyChildren(source, destination, made, options)
    return { entry: await destination.stat(signal), made }
  } catch (error) {
    // The copy's error matters more than an error of undoing it.
    await undoCopy(destination, made, AbortSignal.timeout(undoTimeout)).catch(() => {})
    throw error
  }
}

/** REPLACE never deletes a folder's content, so only an empty folder can be replaced. @throws NOT_EMPTY, NOT_A_FOLDER */
async function requireEmptyFolder(
  destination: WriteLocation,
  existing: CheckedEntry,
  signal: AbortSignal,
): Promise<void> {
  if (existing.kind === 'file') throw new AppError('NOT_A_FOLDER', 'A folder does not replace a file.')
  for await (const _entry of children(destination, signal)) throw new AppError('NOT_EMPTY')
}

export interface FileCopyOptions extends Pick<CopyOptions, 'signal'> {
  overwrite: boolean
  isNewTime?: boolean | undefined
  /** Is called for every chunk that passes through this server, with its length in bytes. A promise delays the chunk. */
  onBytes?: (bytes: number) => Promise<unknown> | undefined
}

/**
 * Copies one file within the back end if it supports that, otherwise through this server. Keeps its time where possible,
 * and compares the checksums that both sides have.
 * @throws BACK_END_FAULT if they differ
 */
export async function copyFile(
  source: ReadLocation,
  seen: CheckedEntry,
  destination: WriteLocation,
  { overwrite, signal, isNewTime = false, onBytes }: FileCopyOptions,
): Promise<CopiedFile | Taken> {
  const copied =
    isNewTime && keepsTime(destination, seen)
      ? null
      : await unlessTaken(() => destination.copyFrom(source, signal, { overwrite }))
  if (copied === taken) return taken
  // The source still has the content, so a damaged copy is deleted even if it replaced a file. It must not be the source.
  const isDeletable = { isNew: !isNewTime }
  if (copied) {
    const isOther = differing(copied, sumsOf(seen)).length > 0
    // The back end may have copied a version that is newer than the listing.
    const version = (isOther && (await statOrNull(source, signal))) || seen
    await requireStored(destination, copied, sumsOf(version), isDeletable)
    return { seen, copy: copied }
  }
  const { body, entry } = await source.read(signal)
  const { storedChecksum } = destination.traits
  const hash = storedChecksum && createHash(storedChecksum)
  const onChunk = (bytes: Uint8Array) => {
    hash?.update(bytes)
    return onBytes?.(bytes.length)
  }
  const modifiedAt = isNewTime ? undefined : timeToKeep(entry)
  try {
    const copy = await unlessTaken(() =>
      destination.write(signal, exactBody(body, entry.size, onChunk), {
        overwrite,
        ...(entry.size !== null && { size: entry.size }),
        ...(entry.mimeType !== null && { mimeType: entry.mimeType }),
        ...(modifiedAt && { modifiedAt }),
      }),
    )
    if (copy === taken) return taken
    const computed: [string, string][] = hash ? [[storedChecksum, hash.digest('hex')]] : []
    await requireStored(destination, copy, new Map([...computed, ...sumsOf(entry)]), isDeletable)
    return { seen, copy }
  } finally {
    body.destroy()
  }
}

function sumsOf({ checksums }: CheckedEntry): ReadonlyMap<string, string> {
  return new Map(Object.entries(checksums))
}

/** Copies into an existing folder without overwriting. Records each step in `made`, so a failed copy can be undone. */
async function copyChildren(
  source: ReadLocation,
  destination: WriteLocation,
  made: CopiedFolder,
  options: CopyOptions,
  depth = 0,
): Promise<void> {
  const { signal, enclosing, beforeFile } = options
  requireDepth(depth)
  for await (const entry of children(source, signal)) {
    const [from, to] = [source.child(entry.name), destination.child(entry.name)]
    if (entry.kind === 'file') {
      await beforeFile?.(entry, from)
      const copied = await copyFile(from, entry, to, { overwrite: false, signal })
      if (copied === taken) throw childTaken(to)
      made.files.push(copied)
    } else {
      requireOutside(entry, from, enclosing)
      if ((await unlessTaken(() => to.mkdir(signal, { exclusive: true }))) === taken) throw childTaken(to)
      const folder: CopiedFolder = { isNew: true, files: [], folders: new Map() }
      made.folders.set(entry.name, folder)
      await copyChildren(from, to, folder, options, depth + 1)
    }
  }
}

/** @throws INTO_ITSELF if the destination of a copy is inside this folder of its source */
export function requireOutside(folder: CheckedEntry, from: ReadLocation, enclosing: ReadonlySet<string>): void {
  if (folder.fileId === null || !enclosing.has(folder.fileId)) return
  throw new AppError(
    'INTO_ITSELF',
    `The destination lies in the folder "${nameOf(from.path)}", which cannot go into itself.`,
  )
}

function childTaken(destination: WriteLocation): AppError {
  return new AppError(
    'ALREADY_EXISTS',
    `"${formatPath(destination.path)}" exists already. Somebody else made it, or the destination takes two names of the source for ` +
      'one (upper and lower case). Nothing was copied.',
  )
}
