import { nameOf, parentOf, type StoragePath } from '../../contract.ts'
import { type DriveItem, isFolder } from './entry.ts'
import { isRefused, isTaken } from './errors.ts'
import type { DriveItems } from './items.ts'

/** A folder that a write needs. */
export interface MadeFolder {
  folder: DriveItem
  /** Deletes the folders that were made for it, if they are still empty. Never rejects. */
  undo(): Promise<void>
}

/** Finds a folder, or makes it with its parents. @throws NOT_A_DIRECTORY */
export async function makeFolders(items: DriveItems, path: StoragePath, signal: AbortSignal): Promise<MadeFolder> {
  const made: StoragePath[] = []
  const undo = async () => {
    for (const each of made.toReversed()) if (!(await removeEmpty(items, each))) return
  }
  try {
    return { folder: await enter(items, path, made, signal), undo }
  } catch (error) {
    await undo()
    throw error
  }
}

async function enter(
  items: DriveItems,
  path: StoragePath,
  made: StoragePath[],
  signal: AbortSignal,
): Promise<DriveItem> {
  const known = await items.look(path, signal)
  if (known) {
    items.requireFolder(known)
    return known
  }
  await enter(items, parentOf(path), made, signal)
  try {
    const folder = await items.makeFolder(parentOf(path), nameOf(path), signal)
    made.push(path)
    return folder
  } catch (error) {
    // Another call has made it, or the parent was deleted.
    if (!isTaken(error) && !isRefused(error, 404)) throw error
    const found = await items.look(path, signal)
    if (!found) throw error
    items.requireFolder(found)
    return found
  }
}

/** Returns false if the folder is in use. */
async function removeEmpty(items: DriveItems, path: StoragePath): Promise<boolean> {
  const signal = AbortSignal.timeout(30_000)
  try {
    const folder = await items.look(path, signal)
    if (!folder) return true
    return isFolder(folder) && (await items.isEmpty(path, signal)) && (await items.remove(folder, signal))
  } catch {
    // An empty folder may remain. The caller needs the error that made the call fail.
    return false
  }
}
