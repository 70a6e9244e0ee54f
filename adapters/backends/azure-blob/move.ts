import { type Call, type Entry, nameOf, parentOf, StorageError, type StoragePath } from '../../contract.ts'
import { fileEntry } from './entry.ts'
import { alreadyExists, hasCode, notAFile, notFound } from './errors.ts'
import { rename } from './hierarchy.ts'
import type { Tree } from './remove.ts'

/** Moves a file or a folder of a hierarchical namespace, in one step. */
export async function moveEntry(
  { container, keys, folders }: Tree,
  { from, to }: { from: StoragePath; to: StoragePath },
  { signal, overwrite }: Call & { overwrite: boolean },
): Promise<Entry> {
  signal.throwIfAborted()
  const [source, destination] = [keys.blob(from), keys.blob(to)]
  if (to.startsWith(`${from}/`)) throw new StorageError('INVALID_PATH', 'A folder cannot be moved into itself.')
  const [blob, existing] = await Promise.all([
    container.head(source, signal),
    container.head(destination, signal),
    folders.refuseFilesAbove(to, signal),
  ])
  if (!blob) throw notFound()
  if (existing && !overwrite) throw alreadyExists()
  if (existing?.isFolder && !blob.isFolder) throw notAFile()
  if (existing && !existing.isFolder && blob.isFolder) {
    throw new StorageError('NOT_A_DIRECTORY', 'There is a file at this path, not a folder.')
  }
  if (from !== to) {
    if (existing?.isFolder && (await folders.below(to, signal)).hasEntries) {
      throw new StorageError('NOT_EMPTY', 'The folder is not empty.')
    }
    const parent = parentOf(to)
    if (parent !== '') await folders.make(parent, { exclusive: false, signal })
    signal.throwIfAborted()
    await rename(container, source, destination, overwrite).catch(error => {
      throw hasCode(error, 'PRECONDITION_FAILED') && !overwrite ? alreadyExists(error) : error
    })
  }
  const moved = await container.head(destination)
  if (blob.isFolder) return folders.folder(to)
  return fileEntry(nameOf(to), container.fileId(destination), moved ?? blob)
}
