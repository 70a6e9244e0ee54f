/** Decides about items whose state was changing, by looking where their entries are. */
import type { Database } from '../../db/client.ts'
import { findProviders } from '../../db/providers.ts'
import { forgetTrashItem, markTrashed, postponeTrashItem, renewTrashItem, type TrashItem } from '../../db/trash.ts'
import type { Storage } from '../../storage/index.ts'
import type { ProviderTrash, TrashTraits } from '../../storage/trash.ts'
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
  const timer = setInterval(() => void renewTrashItem(db, id).catch(() => {}), heartbeat).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
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
 */
export async function settle(
  context: TrashContext,
  item: TrashItem,
  { isOver, signal }: { isOver: boolean; signal: AbortSignal },
): Promise<void> {
  const { db } = context
  const trash = await trashOf(context, item)
  if (!trash) return
  if (await trash.has(item, signal)) await markTrashed(db, item)
  else if (isOver || item.state === 'RESTORING' || Date.now() - item.deletedAt.getTime() > longestChange) {
    await forgetTrashItem(db, item)
  } else await postponeTrashItem(db, item)
}

/** Settles an item whose change has just failed. */
export async function settleAfterFailure(context: TrashChangeContext, item: TrashItem, isOver: boolean): Promise<void> {
  await settle(context, item, { isOver, signal: AbortSignal.timeout(settleTimeout) }).catch(context.onError)
}
