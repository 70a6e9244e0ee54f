/** The entries in the trash of the providers. A row is written before anything happens at a back end, and deleted after it. */
import { type Selectable, type SqlBool, sql } from 'kysely'
import { formatPath, parsePath, root, type StoragePath } from '../auth/path.ts'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Change, Database } from './client.ts'
import { deleteMarksWithin, moveMarks, trashedMarks } from './entry-marks.ts'
import { moveVersions } from './file-versions.ts'
import type { Schema, TrashState } from './schema.ts'

export interface TrashItem {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  providerId: string
  /** The path before the deletion, which starts with "/". */
  path: string
  kind: 'file' | 'directory'
  /** Bytes; null for a folder, and where the back end does not know it. */
  size: number | null
  /** The id in the trash of the back end; null in the reserved folder. */
  nativeId: string | null
  state: TrashState
  /** Who deleted it. */
  userId: string
  jobId: string | null
  /** The path to which the last restore has begun to move or copy the entry. */
  restoredTo: string | null
  deletedAt: Date
  expiresAt: Date
}

type NewTrashItem = Pick<TrashItem, 'id' | 'providerId' | 'path' | 'kind' | 'size' | 'nativeId' | 'userId' | 'jobId'>

/** A change that has not been renewed for this time counts as interrupted. */
const leaseEnd = secondsFromNow(2 * 60)
/** The time until a server looks again at what could not be finished. */
const retryTime = secondsFromNow(60 * 60)

const columnsOf = (item: NewTrashItem) => ({
  id: item.id,
  provider_id: item.providerId,
  path: item.path,
  kind: item.kind,
  size: item.size,
  native_id: item.nativeId,
  user_id: item.userId,
  job_id: item.jobId,
})

/** Stores an item that goes to the trash for this number of days. */
export async function insertTrashItem(db: Database, item: NewTrashItem, days: number): Promise<TrashItem> {
  const row = await db
    .insertInto('trash_items')
    .values({
      ...columnsOf(item),
      state: 'TRASHING',
      expires_at: sql`now() + make_interval(days => ${days})`,
      due_at: leaseEnd,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toItem(row)
}

/**
 * Shows an item, which is in the trash now, with the stars and tags that it had. Stores it again if another server has taken it for one that
 * never got there.
 */
export async function markTrashed(db: Database, item: TrashItem): Promise<TrashItem> {
  const row = await db
    .insertInto('trash_items')
    .values({
      ...columnsOf(item),
      state: 'TRASHED',
      deleted_at: item.deletedAt,
      expires_at: item.expiresAt,
      due_at: item.expiresAt,
    })
    .onConflict(conflict =>
      conflict.column('id').doUpdateSet({ state: 'TRASHED', due_at: sql<Date>`excluded.expires_at` }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
  // The marks of an item whose restore has failed are in the trash already, and another entry may be at its path by now.
  if (item.state === 'TRASHING') {
    const from = { providerId: item.providerId, path: parsePath(item.path) }
    await moveMarks(db, [{ from, to: trashedMarks(item) }], item.deletedAt)
  }
  return toItem(row)
}

/** Renews the lease of an item whose state changes. */
export async function renewTrashItem(db: Database, id: string): Promise<void> {
  await db
    .updateTable('trash_items')
    .set({ due_at: leaseEnd })
    .where('id', '=', id)
    .where('state', '!=', 'TRASHED')
    .execute()
}

/** Looks again later, unless the item has another state by now. */
export async function postponeTrashItem(db: Database, { id, state }: TrashItem): Promise<void> {
  await db
    .updateTable('trash_items')
    .set({ due_at: retryTime })
    .where('id', '=', id)
    .where('state', '=', state)
    .execute()
}

/** Deletes an item that is no longer in the trash. @param restoredTo the path that it has now; null if it was deleted for good */
export async function deleteTrashItem(
  db: Database,
  item: Pick<TrashItem, 'id' | 'providerId'>,
  restoredTo: StoragePath | null,
): Promise<void> {
  const marks = trashedMarks(item)
  if (restoredTo !== null) {
    await moveMarks(db, [{ from: marks, to: { providerId: item.providerId, path: restoredTo } }], null)
  }
  await deleteMarksWithin(db, marks)
  await db.deleteFrom('trash_items').where('id', '=', item.id).execute()
}

/** Deletes an item whose entry is at this path again. Its marks and versions follow it there. */
export async function markRestored(db: Database, item: TrashItem, path: StoragePath): Promise<void> {
  const { providerId, deletedAt } = item
  await moveVersions(db, [{ from: { providerId, path: parsePath(item.path) }, to: { providerId, path } }], deletedAt)
  await deleteTrashItem(db, item, path)
}

/** Deletes an item unless it has another state by now: the server that changes it may only have been paused. */
export async function forgetTrashItem(db: Database, { id, providerId, state }: TrashItem): Promise<void> {
  await deleteMarksWithin(db, trashedMarks({ id, providerId }))
  await db.deleteFrom('trash_items').where('id', '=', id).where('state', '=', state).execute()
}

/** Returns what a job was moving to the trash from this path when it was interrupted. */
export async function findUnfinished(
  db: Database,
  { jobId, providerId, path }: Pick<TrashItem, 'providerId' | 'path'> & { jobId: string },
): Promise<TrashItem | null> {
  const row = await db
    .selectFrom('trash_items')
    .selectAll()
    .where('job_id', '=', jobId)
    .where('provider_id', '=', providerId)
    .where('path', '=', path)
    .where('state', '=', 'TRASHING')
    .executeTakeFirst()
  return row ? toItem(row) : null
}

/** Returns what a job with one source has moved to the trash. */
export async function findItemOfJob(db: Database, jobId: string): Promise<TrashItem | null> {
  const row = await db
    .selectFrom('trash_items')
    .selectAll()
    .where('job_id', '=', jobId)
    .where('state', '=', 'TRASHED')
    .executeTakeFirst()
  return row ? toItem(row) : null
}

/**
 * Takes an item out of the list, to restore it. Returns null if it is not in the trash, or is being restored already.
 * @param options.isRepeated whether the caller may have begun to restore it before, and was interrupted
 */
export async function takeForRestore(
  db: Database,
  { id, providerId, path }: Pick<TrashItem, 'id' | 'providerId' | 'path'>,
  { isRepeated } = { isRepeated: false },
): Promise<TrashItem | null> {
  const row = await db
    .updateTable('trash_items')
    .set({ state: 'RESTORING', due_at: leaseEnd })
    .where('id', '=', id)
    .where('provider_id', '=', providerId)
    .where('path', '=', path)
    .where('state', 'in', isRepeated ? ['TRASHED', 'RESTORING'] : ['TRASHED'])
    .returningAll()
    .executeTakeFirst()
  return row ? toItem(row) : null
}

export async function setRestoredTo(db: Database, id: string, path: string): Promise<void> {
  await db.updateTable('trash_items').set({ restored_to: path }).where('id', '=', id).execute()
}

interface Within {
  providerId: string
  /** Only entries that were deleted at or below one of these paths. */
  paths: readonly StoragePath[]
}

/** Returns the newest items first. @param within.jobId only those that this job has deleted; null for all */
export async function listTrash(
  db: Database,
  { jobId, ...within }: Within & { jobId: string | null },
  { limit, before }: { limit: number; before: string | null },
): Promise<TrashItem[]> {
  const rows = await db
    .selectFrom('trash_items')
    .selectAll()
    .where('provider_id', '=', within.providerId)
    .where('state', '=', 'TRASHED')
    .where(isWithin(within))
    .$if(jobId !== null, query => query.where('job_id', '=', jobId))
    .$if(before !== null, query => query.where('id', '<', before as string))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toItem)
}

/** Removes all items from the list, so that a server deletes them for good. Returns their number. */
export async function removeTrash(db: Change, within: Within): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('trash_items')
    .set({ state: 'REMOVING', due_at: sql<Date>`now()` })
    .where('provider_id', '=', within.providerId)
    .where('state', '=', 'TRASHED')
    .where(isWithin(within))
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

const isDue = sql<SqlBool>`waiting.due_at <= now()`

export function isAnyItemDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'trash_items', isDue)
}

/** Claims an item that has expired or whose change was interrupted, as it is from now on: an expired one is REMOVING. */
export async function claimItem(db: Database): Promise<TrashItem | null> {
  const dueKeys = dueRows('trash_items', { isDue, orderBy: sql`waiting.due_at` })
  const set = sql`due_at = ${leaseEnd},
    state = case when trash_items.state = 'TRASHED' and trash_items.expires_at <= now() then 'REMOVING' else trash_items.state end`
  const [row] = await claimRows(db, 'trash_items', { dueKeys, set })
  return row ? toItem(row) : null
}

function isWithin({ paths }: Within) {
  if (paths.includes(root)) return sql<SqlBool>`true`
  const bases = paths.map(formatPath)
  return sql<SqlBool>`exists (
    select from unnest(${bases}::text[]) as base where path = base or starts_with(path, base || '/'))`
}

function toItem(row: Selectable<Schema['trash_items']>): TrashItem {
  return {
    id: row.id,
    providerId: row.provider_id,
    path: row.path,
    kind: row.kind,
    size: row.size === null ? null : Number(row.size),
    nativeId: row.native_id,
    state: row.state,
    userId: row.user_id,
    jobId: row.job_id,
    restoredTo: row.restored_to,
    deletedAt: row.deleted_at,
    expiresAt: row.expires_at,
  }
}
