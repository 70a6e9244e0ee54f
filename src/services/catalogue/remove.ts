/** Removes entries from the catalogue of a provider, in steps. */
import type { StoragePath } from '../../auth/path.ts'
import { type CatalogueLease, changeCatalogue } from '../../db/catalogue/catalogues.ts'
import { deleteBelow, deleteEntries, hasBelow, type KnownEntry } from '../../db/catalogue/entries.ts'
import type { Database } from '../../db/client.ts'

/** Rows that one statement deletes or compares. */
export const batchSize = 5000

export interface LeasedCatalogue extends CatalogueLease {
  db: Database
}

/** An entry that no longer exists. */
export type Removed = Pick<KnownEntry, 'path' | 'isFolder'>

/** Removes entries with everything below them. */
export async function removeAll(context: LeasedCatalogue, removed: readonly Removed[]): Promise<void> {
  if (removed.length === 0) return
  for (const { path, isFolder } of removed) if (isFolder) await removeBelow(context, path)
  const paths = removed.map(({ path }) => path)
  await changeCatalogue(context.db, context, async trx => ({
    added: -(await deleteEntries(trx, context.catalogue, paths)),
  }))
}

/** Removes everything below a folder, in steps. */
export async function removeBelow({ db, ...lease }: LeasedCatalogue, path: StoragePath): Promise<void> {
  if (!(await hasBelow(db, lease.catalogue, path))) return
  for (let deleted = batchSize; deleted === batchSize; ) {
    await changeCatalogue(db, lease, async trx => {
      deleted = await deleteBelow(trx, lease.catalogue, path, batchSize)
      return { added: -deleted }
    })
  }
}
