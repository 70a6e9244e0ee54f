/** Pages of changes that adapters share. */
import { type ChangedEntry, type ChangesPage, parentOf, type StoragePath } from '../contract.ts'

/** Entries in one page, from the contract. */
export const maxChanges = 1000

/** The number of entries that an adapter asks for at once. Vendors can return some more. */
export const changesAtOnce = 500

/** Returns a page. More changes than it may have become one of the folder around them, or one of everything. */
export function changesPage(changed: readonly ChangedEntry[], cursor: string, hasMore: boolean): ChangesPage {
  if (changed.length <= maxChanges) return { changed, cursor, hasMore }
  const paths = changed.flatMap(({ path }) => path ?? [])
  if (paths.length < changed.length) return { changed: 'everything', cursor, hasMore }
  return { changed: [{ path: folderAround(paths), isTree: true }], cursor, hasMore }
}

function folderAround([first, ...others]: readonly StoragePath[]): StoragePath {
  let around = parentOf(first ?? ('' as StoragePath))
  for (const path of others) while (around !== '' && !path.startsWith(`${around}/`)) around = parentOf(around)
  return around
}
