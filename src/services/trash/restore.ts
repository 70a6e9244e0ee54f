/** Moves entries from the trash to where they were. */
import { isId } from '../../auth/id.ts'
import { authorize, needs } from '../../auth/needs.ts'
import { formatPath } from '../../auth/path.ts'
import { notInTrash, parseTrashId } from '../../auth/trash-id.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { deleteTrashItem, setRestoredTo, type TrashItem, takeForRestore } from '../../db/trash.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import type { AuditFacts, Recording } from '../audit/index.ts'
import {
  type ConflictBehavior,
  isMissing,
  resolveConflict,
  statOrNull,
  type Taken,
  taken,
  unlessTaken,
} from '../files/conflict.ts'
import { copyAndDelete } from '../files/copying.ts'
import { entryAt, type FileEntry } from '../files/entry.ts'
import { openDestinations, requireReplaceable } from '../files/transfer.ts'
import { moveTree } from './move-tree.ts'
import { keepLease, settleAfterFailure, type TrashChangeContext, type TrashContext, trashOf } from './settle.ts'

export interface RestoreInput {
  /** The opaque id of an item. */
  id: string
  conflict: ConflictBehavior
}

/** Returns the place that an id names, for the audit log; nothing for a text that is no id. */
export function factsOfPlace(id: string): AuditFacts {
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
  { id, conflict }: RestoreInput,
  { recording, signal: requestSignal }: { recording: Recording; signal: AbortSignal },
): Promise<FileEntry> {
  const { db, storage } = context
  const [granted] = authorize(viewer, needs.restore, { id })
  const { providerId, path } = granted
  const at = await openDestinations(storage, viewer, granted)
  const { id: itemId } = parseTrashId(id)
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
    await deleteTrashItem(db, item.id)
    recording.add({ location: { providerId, path: formatPath(restored.path) } })
    return restored
  } catch (error) {
    await settleAfterFailure(context, item, true)
    throw isMissing(error) ? notInTrash() : error
  }
}

interface RestoreStep {
  overwrite: boolean
  signal: AbortSignal
}

async function restoreTo(
  context: TrashContext,
  item: TrashItem,
  destination: WriteLocation,
  { overwrite, signal }: RestoreStep,
): Promise<CheckedEntry | Taken> {
  const { db } = context
  const { nativeId } = item
  if (nativeId !== null) return restoreNative(context, { ...item, nativeId }, destination, { overwrite, signal })
  const source = destination.inTrash(item.id)
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
  await setRestoredTo(db, item.id, formatPath(destination.path))
  await moveTree(source, destination, { overwrite: false, signal })
  return destination.stat(signal)
}

/** The back end never replaces anything, so what is replaced is deleted first. */
async function restoreNative(
  context: TrashContext,
  item: TrashItem & { nativeId: string },
  destination: WriteLocation,
  { overwrite, signal }: RestoreStep,
): Promise<CheckedEntry | Taken> {
  const existing = overwrite ? await statOrNull(destination, signal) : null
  if (existing) {
    await requireReplaceable(item.kind, destination, existing, signal)
    // Somebody may have emptied the trash of the back end.
    const trash = await trashOf(context, item)
    if (!(await trash?.has(item, signal))) throw notInTrash()
    await destination.delete(signal, existing)
  }
  return unlessTaken(() => destination.restore(item.nativeId, signal))
}
