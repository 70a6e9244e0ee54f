/**
 * Decides about items whose state was changing, by looking where their entries are, and deletes expired items for good. One
 * server at a time works on an item.
 */
import { parsePath } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import { findJobs } from '../../db/jobs/jobs.ts'
import { findProviders } from '../../db/providers.ts'
import { forgetTrashedFiles } from '../../db/quotas/changes.ts'
import {
  claimItem,
  deleteTrashItem,
  forgetTrashItem,
  isAnyItemDue,
  markRestored,
  markTrashed,
  postponeTrashItem,
  renewTrashItem,
  type TrashItem,
} from '../../db/trash.ts'
import { LeaseKeeper } from '../../lib/lease-keeper.ts'
import { type Polling, startClaiming } from '../../lib/polling.ts'
import type { Storage } from '../../storage/index.ts'
import { type ProviderTrash, type TrashTraits, trashPath } from '../../storage/trash.ts'
import type { WriteLocation } from '../../storage/write-location.ts'

/** Milliseconds: shorter than a lease. */
const heartbeat = 30_000
/** Milliseconds to find out where an entry is after a failure. Later, another server finds out. */
const settleTimeout = 10_000
/** Milliseconds after which no killed or paused server moves an entry to the trash any more. */
const longestChange = 24 * 60 * 60 * 1000

export interface TrashContext {
  db: Database
  storage: Storage
}

export interface TrashChangeContext extends TrashContext {
  onError: (error: unknown) => void
}

/** Renews the lease of an item until it is disposed of. */
export function keepLease(db: Database, { id }: TrashItem): Disposable {
  return new LeaseKeeper({ interval: heartbeat, renew: () => renewTrashItem(db, id) })
}

/** Returns how the trash of a location works, as its provider is set now. */
export async function trashTraitsAt({ storage }: TrashContext, { grant }: WriteLocation): Promise<TrashTraits> {
  return storage.trashTraits(await storage.record(grant))
}

/** Returns null if the provider is disconnected. */
export async function trashOf({ db, storage }: TrashContext, item: TrashItem): Promise<ProviderTrash | null> {
  const [provider] = await findProviders(db, [item.providerId])
  return provider ? storage.trash(provider) : null
}

/**
 * Shows an item whose entry is in the trash. Deletes one whose entry is not there, unless a call that may still be running could
 * move it there.
 * @param options.isOver whether no call for the item can still be running
 * @param options.mayBeRestored whether a call for the item may have restored its entry. If not, an entry at its path is a different one
 */
async function settle(
  context: TrashContext,
  item: TrashItem,
  { isOver, mayBeRestored, signal }: { isOver: boolean; mayBeRestored: boolean; signal: AbortSignal },
): Promise<void> {
  const { db } = context
  const trash = await trashOf(context, item)
  if (!trash) return
  if (await trash.has(item, signal)) await markTrashed(db, item)
  else if (item.state === 'RESTORING' && mayBeRestored && (await isRestored(trash, item, signal))) {
    await markRestored(db, item, parsePath(item.restoredTo ?? item.path))
  } else if (isOver || item.state === 'RESTORING' || Date.now() - item.deletedAt.getTime() > longestChange) {
    await forgetTrashItem(db, item)
  } else await postponeTrashItem(db, item)
}

/** Returns whether the path to which the entry was being restored has one of its kind and size. */
async function isRestored(
  trash: ProviderTrash,
  { restoredTo, kind, size }: TrashItem,
  signal: AbortSignal,
): Promise<boolean> {
  if (restoredTo === null) return false
  const found = await trash.entryAt(parsePath(restoredTo), signal)
  return found?.kind === kind && (kind === 'directory' || size === null || found.size === size)
}

/** Settles an item whose change has just failed. @param options as of `settle` */
export async function settleAfterFailure(
  context: TrashChangeContext,
  item: TrashItem,
  { isOver, mayBeRestored }: { isOver: boolean; mayBeRestored: boolean },
): Promise<void> {
  const signal = AbortSignal.timeout(settleTimeout)
  await settle(context, item, { isOver, mayBeRestored, signal }).catch(context.onError)
}

/** Milliseconds between two searches. */
const pollInterval = 60_000
/** Milliseconds to find out where an entry is. */
const collectTimeout = 60_000
const itemsAtOnce = 4

export function startTrashCollector(context: TrashChangeContext): Polling {
  const { db, onError } = context
  return startClaiming({
    interval: pollInterval,
    atOnce: itemsAtOnce,
    isAnyDue: () => isAnyItemDue(db),
    claim: () => claimItem(db),
    work: (item, signal) => collectOne(context, item, signal),
    onError,
  })
}

/** A failure is often one of the back end, so the next attempt is later. */
async function collectOne(context: TrashChangeContext, item: TrashItem, signal: AbortSignal): Promise<void> {
  const { db, onError } = context
  using _lease = keepLease(db, item)
  try {
    if (item.state === 'REMOVING') {
      await (await trashOf(context, item))?.remove(item, signal)
      await forgetTrashedFiles(db, item.providerId, trashPath(item.nativeId ?? item.id))
      await deleteTrashItem(db, item, null)
    } else if (await isJobActive(context, item)) await postponeTrashItem(db, item)
    else
      await settle(context, item, {
        isOver: false,
        mayBeRestored: true,
        signal: AbortSignal.any([signal, AbortSignal.timeout(collectTimeout)]),
      })
  } catch (error) {
    if (signal.aborted) return
    onError(error)
    await postponeTrashItem(db, item)
  }
}

/** A job that copies a folder to the trash continues after its server was killed. */
async function isJobActive({ db }: TrashContext, { jobId }: TrashItem): Promise<boolean> {
  const [job] = jobId === null ? [] : await findJobs(db, [jobId])
  return job !== undefined && job.endedAt === null
}
