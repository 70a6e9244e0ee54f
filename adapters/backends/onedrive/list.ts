import { notADirectory, notFound } from '../../bases/cloud/failure.ts'
import type { ListPage, StoragePath } from '../../contract.ts'
import { isFolder, isShown, toEntry } from './entry.ts'
import { isRefused } from './errors.ts'
import type { DriveItems } from './items.ts'

/** Returns one page of a folder, without shortcuts and notebooks. */
export async function listPage(
  items: DriveItems,
  path: StoragePath,
  { cursor, limit, signal }: { cursor: string | undefined; limit: number; signal: AbortSignal },
): Promise<ListPage> {
  const page = await items.children(path, limit, cursor, signal).catch(async error => {
    // Refuses a file in the same way as a missing folder.
    if (cursor === undefined && isRefused(error, 400, 404)) await requireFolder(items, path, signal)
    throw error
  })
  if (cursor === undefined && page.items.length === 0) await requireFolder(items, path, signal)
  const entries = page.items.filter(isShown).map(item => toEntry(item.name, item))
  return page.token === undefined ? { entries } : { entries, cursor: page.token }
}

/** @throws NOT_FOUND, NOT_A_DIRECTORY */
async function requireFolder(items: DriveItems, path: StoragePath, signal: AbortSignal): Promise<void> {
  const item = await items.find(path, signal)
  if (!item) throw notFound()
  if (!isFolder(item)) throw notADirectory()
}
