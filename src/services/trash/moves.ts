/**
 * Moves entries to the trash, and back to where they were. Where the back end cannot move a folder, each of its files is
 * copied.
 */
import { isId, notInTrash, parseTrashId, timeOrderedIds } from '../../auth/id.ts'
import { type Authorized, authorize, needs } from '../../auth/needs.ts'
import { formatPath } from '../../auth/path.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import {
  deleteTrashItem,
  findUnfinished,
  insertTrashItem,
  markRestored,
  markTrashed,
  setRestoredTo,
  type TrashItem,
  takeForRestore,
} from '../../db/trash.ts'
import { reasons, toAppError } from '../../errors.ts'
import { allDone, Limiter } from '../../lib/limiter.ts'
import { maxPageSize } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import type { AuditFacts, Recording } from '../audit/index.ts'
import {
  type ConflictBehavior,
  isMissing,
  nameTaken,
  nothingKeeps,
  resolveConflict,
  statOrNull,
  type Taken,
  taken,
  unlessTaken,
} from '../files/conflict.ts'
import { sha256Of } from '../files/content.ts'
import { copyAndDelete, deleteFile } from '../files/copying.ts'
import { entryAt, type FileEntry } from '../files/entry.ts'
import { openDestinations, requireReplaceable } from '../files/transfer.ts'
import type { PutOptions, TrashBin } from '../files/trash-bin.ts'
import { CursorCheck, requireDepth } from '../files/tree.ts'
import {
  keepLease,
  settleAfterFailure,
  type TrashChangeContext,
  type TrashContext,
  trashOf,
  trashTraitsAt,
} from './settle.ts'

const nextId = timeOrderedIds()

/** Implements `TrashBin.put`. The row is stored first, so that an entry in the trash always has one. */
export async function putInTrash(
  context: TrashChangeContext,
  location: WriteLocation,
  entry: CheckedEntry,
  { jobId, signal }: PutOptions,
): ReturnType<TrashBin['put']> {
  const { db } = context
  const { days, isNative, isOneStep } = await trashTraitsAt(context, location)
  if (days === 0) return 'OFF'
  if (entry.kind === 'directory' && !isOneStep && jobId === null) return 'NEEDS_JOB'
  const at = { providerId: location.providerId, path: formatPath(location.path) }
  const unfinished = jobId === null ? null : await findUnfinished(db, { ...at, jobId })
  const item = unfinished ?? (await store())
  using _lease = keepLease(db, item)
  try {
    if (!(await move(location, entry, item, { jobId, signal }))) {
      await deleteTrashItem(db, item, null)
      return 'NEEDS_JOB'
    }
    return await markTrashed(db, item)
  } catch (error) {
    // An interrupted job continues with the item.
    if (jobId !== null && signal.aborted) throw error
    // After a timeout or an abort, the call at the back end may still be running.
    const isOver = !signal.aborted && !reasons[toAppError(error).reason].retryable
    await settleAfterFailure(context, item, { isOver, mayBeRestored: false })
    throw error
  }

  async function store(): Promise<TrashItem> {
    const nativeId = isNative ? await location.identify(signal) : null
    const { kind, size } = entry
    const { userId } = location.grant.viewer.member
    return insertTrashItem(db, { id: nextId(new Date()), ...at, kind, size, nativeId, userId, jobId }, days)
  }
}

/** Returns false if the entry is a folder that has to be copied and no job does it. */
async function move(
  location: WriteLocation,
  entry: CheckedEntry,
  { id, nativeId }: TrashItem,
  { jobId, signal }: PutOptions,
): Promise<boolean> {
  if (nativeId !== null) {
    await location.discard(nativeId, signal)
    return true
  }
  const inTrash = location.inTrash(id)
  // Nothing else has this id, so this replaces nothing. A back end can need fewer steps if it does not have to check that.
  const moved = await location.moveTo(inTrash, signal, { overwrite: true, seen: entry })
  if (moved) return true
  if (entry.kind === 'file') await copyAndDelete(location, entry, inTrash, { existing: null, overwrite: true, signal })
  else if (jobId === null) return false
  else await moveTree(location, inTrash, { overwrite: true, signal })
  return true
}

export interface RestoreInput {
  /** The opaque id of an item. */
  id: string
  /** The decision that the viewer may restore it, if it is made already. */
  authorized?: Authorized<typeof needs.restore>
  conflict: ConflictBehavior
}

/** Returns the location that an id names, for the audit log; nothing for a text that is no id. */
export function factsOfItem(id: string): AuditFacts {
  try {
    const { providerId, path } = parseTrashId(id)
    return { location: { providerId, path } }
  } catch {
    return {}
  }
}

/** @throws NOT_FOUND, ALREADY_EXISTS, NOT_EMPTY, NOT_A_FILE, NOT_A_FOLDER, as `authorize` and the back ends */
export async function restoreFromTrash(
  context: TrashChangeContext,
  viewer: Viewer | null,
  input: RestoreInput,
  { recording, signal: requestSignal }: { recording: Recording; signal: AbortSignal },
): Promise<FileEntry> {
  const { db, storage } = context
  const { id, conflict } = input
  const [granted] = authorize(viewer, needs.restore, input)
  const { providerId, path } = granted
  const at = await openDestinations(storage, viewer, granted)
  const { id: itemId } = parseTrashId(id)
  // The item must be at the granted path, whatever the id says.
  const item = isId(itemId) ? await takeForRestore(db, { id: itemId, providerId, path: formatPath(path) }) : null
  if (!item) throw notInTrash()
  recording.add({ bytes: item.size, details: { kind: item.kind } })
  using _lease = keepLease(db, item)
  try {
    const restored = await storage.activeGrants.run([granted], requestSignal, signal =>
      resolveConflict(
        path,
        item.kind,
        conflict,
        async (candidate, overwrite) => {
          const destination = await at(candidate)
          const entry = await restoreTo(context, item, destination, { overwrite, signal })
          return entry === taken ? taken : entryAt(destination, entry)
        },
        { seed: item.id },
      ),
    )
    await markRestored(db, item, restored.path)
    recording.add({ location: { providerId, path: formatPath(restored.path) } })
    return restored
  } catch (error) {
    await settleAfterFailure(context, item, { isOver: true, mayBeRestored: !isRefused(error) })
    throw isMissing(error) ? notInTrash() : error
  }
}

/** Returns whether nothing was restored. After other errors, the back end may have done it nevertheless. */
function isRefused(error: unknown): boolean {
  const { code, reason } = toAppError(error)
  return code === 'NOT_FOUND' || (code === 'BAD_USER_INPUT' && !reasons[reason].retryable)
}

/** Implements `TrashBin.restore`. */
export async function restoreForJob(
  context: TrashChangeContext,
  id: string,
  location: WriteLocation,
  { isRepeated, signal, turn }: { isRepeated: boolean; signal: AbortSignal; turn: AbortSignal },
): Promise<boolean> {
  const { db } = context
  const at = { id, providerId: location.providerId, path: formatPath(location.path) }
  const item = await takeForRestore(db, at, { isRepeated })
  if (!item) {
    if (isRepeated && (await statOrNull(location, signal))) return true
    throw notInTrash()
  }
  using _lease = keepLease(db, item)
  try {
    if (!(await restoreOver(context, item, location, { signal, turn }))) return false
    await deleteTrashItem(db, item, location.path)
    return true
  } catch (error) {
    // An interrupted job continues with the item.
    if (signal.aborted) throw error
    await settleAfterFailure(context, item, { isOver: true, mayBeRestored: isRepeated || !isRefused(error) })
    if (!isMissing(error)) throw error
    if (!isRepeated || !(await statOrNull(location, signal))) throw notInTrash()
    return true
  }
}

/** Returns false if the turn ended before. */
async function restoreOver(
  context: TrashChangeContext,
  item: TrashItem,
  location: WriteLocation,
  { signal, turn }: { signal: AbortSignal; turn: AbortSignal },
): Promise<boolean> {
  const { count, isNative } = await location.versionTraits()
  const keep = count > 0 || isNative ? undefined : (replaced: WriteLocation) => putReplaced(context, replaced, signal)
  const existing = item.kind === 'directory' ? await statOrNull(location, signal) : null
  const isCopied = item.kind === 'directory' && !existing && !location.canMove
  if ((existing?.kind === 'directory' || isCopied) && item.nativeId === null) {
    await beginRestore(context.db, item, location)
    // A new folder has nothing that would be replaced, so nobody has to look for it.
    const options = existing ? { overwrite: true, keep } : { overwrite: false }
    return moveTree(location.inTrash(item.id), location, { ...options, signal, turn })
  }
  const restored = await restoreTo(context, item, location, { overwrite: true, keep, signal })
  if (restored === taken) throw nameTaken(location.path)
  return true
}

/** Moves the file that is about to be replaced to the trash, if there is one. @throws PRECONDITION_FAILED */
async function putReplaced(context: TrashChangeContext, location: WriteLocation, signal: AbortSignal): Promise<void> {
  const existing = await statOrNull(location, signal)
  if (existing?.kind !== 'file') return
  if ((await putInTrash(context, location, existing, { jobId: null, signal })) === 'OFF') {
    throw nothingKeeps(location.path)
  }
}

/** Stores where the entry will be, so that its marks follow it there although the server is killed after the last step. */
async function beginRestore(db: Database, item: TrashItem, { path }: WriteLocation): Promise<void> {
  item.restoredTo = formatPath(path)
  await setRestoredTo(db, item.id, item.restoredTo)
}

interface RestoreOptions {
  overwrite: boolean
  /** Is called before a file is replaced that would not become a version. */
  keep?: ((replaced: WriteLocation) => Promise<void>) | undefined
  signal: AbortSignal
}

async function restoreTo(
  context: TrashContext,
  item: TrashItem,
  destination: WriteLocation,
  { overwrite, keep, signal }: RestoreOptions,
): Promise<CheckedEntry | Taken> {
  const { db } = context
  const { nativeId } = item
  // A folder that has to be copied may continue in an existing one, so its path is stored when the copy begins.
  if (nativeId !== null || item.kind === 'file' || destination.canMove) {
    await beginRestore(db, item, destination)
  }
  if (nativeId !== null) return restoreNative(context, { ...item, nativeId }, destination, { overwrite, keep, signal })
  const source = destination.inTrash(item.id)
  if (keep && item.kind === 'file') {
    // A run that was killed may have restored the file already, which must not go to the trash again.
    await source.stat(signal)
    await keep(destination)
    return restoreTo(context, item, destination, { overwrite: false, signal })
  }
  const moved = await unlessTaken(() => source.moveTo(destination, signal, { overwrite }))
  if (moved !== null) return moved
  const existing = await statOrNull(destination, signal)
  if (item.kind === 'file') {
    if (existing && !overwrite) return taken
    return copyAndDelete(source, await source.stat(signal), destination, { existing, overwrite, signal })
  }
  if (existing && item.restoredTo !== formatPath(destination.path)) {
    if (!overwrite) return taken
    await requireReplaceable(item.kind, destination, existing, signal)
  }
  await beginRestore(db, item, destination)
  await moveTree(source, destination, { overwrite: false, signal })
  return destination.stat(signal)
}

/** The back end never replaces anything, so what is replaced is deleted first. */
async function restoreNative(
  context: TrashContext,
  item: TrashItem & { nativeId: string },
  destination: WriteLocation,
  { overwrite, keep, signal }: RestoreOptions,
): Promise<CheckedEntry | Taken> {
  const existing = overwrite ? await statOrNull(destination, signal) : null
  if (existing) {
    await requireReplaceable(item.kind, destination, existing, signal)
    // Somebody may have emptied the trash of the back end.
    const trash = await trashOf(context, item)
    if (!(await trash?.has(item, signal))) throw notInTrash()
    if (existing.kind === 'directory') await destination.delete(signal, existing)
    else if (keep) await keep(destination)
    else await deleteFile(destination, existing, signal)
  }
  return unlessTaken(() => destination.restore(item.nativeId, signal))
}

/** The number of files that are copied at the same time. */
const filesAtOnce = 16

/**
 * Adds the content of a folder to another one, which it creates if it is missing, and deletes the folder. An interrupted call
 * leaves each file at one of both paths, and another call continues with the rest.
 * @param options.overwrite whether files replace those of the other folder
 * @param options.turn ends the call after some files if it aborts, so that each call moves at least one. Default: the call moves all
 * @returns false if the turn ended before all files were moved
 * @throws ALREADY_EXISTS for another file of that name; NOT_EMPTY if an entry was added meanwhile
 */
function moveTree(
  from: WriteLocation,
  to: WriteLocation,
  options: RestoreOptions & { turn?: AbortSignal },
): Promise<boolean> {
  return moveFolder(from, to, { limiter: new Limiter(filesAtOnce), ...options }, 0)
}

interface TreeMove extends RestoreOptions {
  limiter: Limiter
  turn?: AbortSignal
}

async function moveFolder(from: WriteLocation, to: WriteLocation, move: TreeMove, depth: number): Promise<boolean> {
  requireDepth(depth)
  const { limiter, signal, turn } = move
  await to.mkdir(signal, { exclusive: false })
  const cursors = new CursorCheck()
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<WriteLocation['list']>> = await from.list(signal, { cursor, limit: maxPageSize })
    cursors.check(page.cursor)
    const [folders, files] = [true, false].map(is => page.entries.filter(({ kind }) => (kind === 'directory') === is))
    await allDone(
      (files ?? []).map(entry =>
        limiter.run(() => moveFile(from.child(entry.name), entry, to.child(entry.name), move)),
      ),
    )
    if (turn?.aborted && files && files.length > 0) return false
    // One after the other, so that the number of open listings stays small.
    for (const { name } of folders ?? []) {
      if (!(await moveFolder(from.child(name), to.child(name), move, depth + 1))) return false
    }
    cursor = page.cursor
  } while (cursor !== null)
  await from.delete(signal)
  return true
}

async function moveFile(
  from: WriteLocation,
  entry: CheckedEntry,
  to: WriteLocation,
  { overwrite, keep, signal }: TreeMove,
): Promise<void> {
  signal.throwIfAborted()
  await keep?.(to)
  const source = from.traits.listedTimePrecision === undefined ? entry : await from.stat(signal)
  const options = { existing: null, overwrite: overwrite && !keep, signal }
  if ((await copyAndDelete(from, source, to, options)) !== taken) return
  const [now, copy] = await Promise.all([statOrNull(from, signal), statOrNull(to, signal)])
  // An interrupted call has copied the file, and not deleted it yet.
  if (!now) return
  const isCopy =
    copy?.kind === 'file' && now.size === copy.size && (await haveSameBytes([from, now], [to, copy], signal))
  if (!isCopy) throw nameTaken(to.path)
  await from.delete(signal, now)
}

type File = readonly [location: WriteLocation, entry: CheckedEntry]

/** Compares checksums that both files have. Without one, for example on a disk, reads both. */
async function haveSameBytes(file: File, other: File, signal: AbortSignal): Promise<boolean> {
  const sums = new Map(Object.entries(other[1].checksums))
  const common = Object.entries(file[1].checksums).filter(([name]) => sums.has(name))
  if (common.length > 0) return common.every(([name, sum]) => sums.get(name) === sum)
  const digest = async ([location, seen]: File) => sha256Of((await location.read(signal, { seen })).body)
  const [sum, otherSum] = await Promise.all([digest(file), digest(other)])
  return sum.equals(otherSum)
}
