import { type Call, StorageError, type StoragePath } from '../../contract.ts'
import type { Container } from './container.ts'
import { hasCode } from './errors.ts'
import type { Folders } from './folders.ts'
import { removeDirectory } from './hierarchy.ts'
import type { Keys } from './keys.ts'
import { listBlobs } from './list.ts'

/** The number of concurrent deletions. */
const atOnce = 32
/** The maximum number of blobs in one listing. */
const pageSize = 1000

export interface Tree {
  container: Container
  keys: Keys
  folders: Folders
  isHierarchical: boolean
}

/** Deletes a file or an empty folder. Returns false if there was none. @throws NOT_EMPTY */
export async function removeEntry(tree: Tree, path: StoragePath, { signal }: Call): Promise<boolean> {
  const { container, folders, isHierarchical } = tree
  const key = tree.keys.blob(path)
  const blob = await container.head(key, signal)
  if (blob && !blob.isFolder) await container.remove(key, signal)
  else if (isHierarchical) return blob !== undefined && (await removed(removeDirectory(container, key, false, signal)))
  else {
    const { hasEntries, hasMarker } = await folders.below(path, signal)
    if (hasEntries) throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
    if (hasMarker) await container.remove(`${key}/`, signal)
    if (blob) await container.remove(key, signal)
    return blob !== undefined || hasMarker
  }
  return true
}

/** Deletes a file, or a folder with everything below it. Returns false if there was none. */
export async function removeTree(tree: Tree, path: StoragePath, { signal }: Call): Promise<boolean> {
  const { container, isHierarchical } = tree
  const key = tree.keys.blob(path)
  const blob = await container.head(key, signal)
  // Blobs below the name of a file are hidden from clients, so deleting the file keeps them.
  const isFile = blob?.isFolder === false
  if (isHierarchical && !isFile) {
    return blob !== undefined && (await removed(removeDirectory(container, key, true, signal)))
  }
  const hadBlobs = !isFile && (await removeAll(container, `${key}/`, signal))
  if (blob) await container.remove(key, signal)
  return blob !== undefined || hadBlobs
}

async function removed(deletion: Promise<void>): Promise<boolean> {
  try {
    await deletion
    return true
  } catch (error) {
    if (hasCode(error, 'NOT_FOUND')) return false
    throw error
  }
}

/** Removes every blob with this prefix, including those that are not valid paths. Returns false if there was none. */
async function removeAll(container: Container, prefix: string, signal: AbortSignal): Promise<boolean> {
  let hadBlobs = false
  for (let marker: string | undefined; ; ) {
    const page = await listBlobs(container, { prefix, limit: pageSize, marker }, signal)
    const keys = page.items.map(({ key }) => key)
    const worker = async () => {
      for (let key = keys.pop(); key !== undefined; key = keys.pop()) await container.remove(key, signal)
    }
    hadBlobs ||= keys.length > 0
    if (keys.includes(undefined)) throw notUtf8()
    await Promise.all(Array.from({ length: atOnce }, worker))
    if (page.marker === '') return hadBlobs
    marker = page.marker
  }
}

function notUtf8(): StorageError {
  const message = 'Something in this folder has a name that is not UTF-8: delete it at the back end.'
  return new StorageError('UNAVAILABLE', message)
}
