/** Locks and dead properties follow the entries that they belong to, whichever front end changes those. */

import type { StoragePath } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import { deleteLocksWithin } from '../../db/webdav/locks.ts'
import { copyProperties, deletePropertiesWithin } from '../../db/webdav/properties.ts'

interface DataOwner {
  providerId: string
  path: StoragePath
}

/** Call these after the change. */
export interface EntryData {
  deleted(at: DataOwner): Promise<void>
  copied(from: DataOwner, to: DataOwner): Promise<void>
  moved(from: DataOwner, to: DataOwner): Promise<void>
}

/** A failure does not undo the change of the entry, so it is only reported. */
export function createEntryData({ db, onError }: { db: Database; onError: (error: unknown) => void }): EntryData {
  async function deleted(at: DataOwner): Promise<void> {
    await deleteLocksWithin(db, at.providerId, at.path)
    await deletePropertiesWithin(db, at)
  }

  async function copied(from: DataOwner, to: DataOwner): Promise<void> {
    await deletePropertiesWithin(db, to)
    await copyProperties(db, from, to)
  }

  return {
    deleted: at => deleted(at).catch(onError),
    copied: (from, to) => copied(from, to).catch(onError),
    moved: (from, to) =>
      copied(from, to)
        .then(() => deleted(from))
        .catch(onError),
  }
}
