/** Moves entries to the trash. */
import { timeOrderedIds } from '../../auth/id.ts'
import { formatPath } from '../../auth/path.ts'
import { deleteTrashItem, findUnfinished, insertTrashItem, markTrashed, type TrashItem } from '../../db/trash.ts'
import { reasons, toAppError } from '../../errors.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { copyAndDelete } from '../files/copying.ts'
import type { PutOptions, TrashBin } from '../files/transfer.ts'
import { moveTree } from './move-tree.ts'
import { keepLease, settleAfterFailure, type TrashChangeContext, trashTraitsAt } from './settle.ts'

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
      await deleteTrashItem(db, item.id)
      return 'NEEDS_JOB'
    }
    return await markTrashed(db, item)
  } catch (error) {
    // An interrupted job continues with the item.
    if (jobId !== null && signal.aborted) throw error
    // After a timeout or an abort, the call at the back end may still be running.
    const isOver = !signal.aborted && !reasons[toAppError(error).reason].retryable
    await settleAfterFailure(context, item, isOver)
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
  const place = location.inTrash(id)
  // Nothing else has this id, so this replaces nothing. A back end can need fewer steps if it does not have to check that.
  const moved = await location.moveTo(place, signal, { overwrite: true, seen: entry })
  if (moved) return true
  if (entry.kind === 'file') await copyAndDelete(location, entry, place, { existing: null, overwrite: true, signal })
  else if (jobId === null) return false
  else await moveTree(location, place, { overwrite: true, signal })
  return true
}
