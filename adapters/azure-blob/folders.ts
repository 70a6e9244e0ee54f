import { ancestorsOf, type Entry, nameOf, parentOf, StorageError, type StoragePath } from '../contract.ts'
import type { Container } from './container.ts'
import { fileEntry, folderEntry, folderMark } from './entry.ts'
import { alreadyExists, hasCode, notAFile, notFound } from './errors.ts'
import { makeDirectory } from './hierarchy.ts'
import type { Keys } from './keys.ts'
import { type Below, Subfolders } from './subfolders.ts'

/** Milliseconds for which a parent that is not a file is not checked again, as many files often go into one folder. */
const notFileTime = 5_000
const maxRemembered = 1000

/**
 * With a hierarchical namespace, folders are real. Without one, a folder exists while any blob lies below it. An empty folder
 * is an empty blob with the name of the folder and the metadata `hdi_isfolder`.
 */
export class Folders {
  readonly #container: Container
  readonly #keys: Keys
  readonly #isHierarchical: boolean
  readonly #notFiles = new Map<StoragePath, number>()
  readonly #subfolders: Subfolders

  constructor(container: Container, keys: Keys, isHierarchical: boolean) {
    this.#container = container
    this.#keys = keys
    this.#isHierarchical = isHierarchical
    this.#subfolders = new Subfolders(container, keys, isHierarchical)
  }

  /** @throws NOT_FOUND */
  async stat(path: StoragePath, signal: AbortSignal): Promise<Entry> {
    // The root always exists, but the credentials may not.
    if (path === '') await this.#subfolders.below(path, signal)
    const found = await this.#subfolders.find(path, signal)
    if (!found) throw notFound()
    return found === 'folder' ? this.folder(path) : this.file(path, found)
  }

  folder(path: StoragePath): Entry {
    return folderEntry(nameOf(path), this.#container.fileId(this.#keys.folder(path)))
  }

  file(path: StoragePath, blob: Parameters<typeof fileEntry>[2]): Entry {
    return fileEntry(nameOf(path), this.#container.fileId(this.#keys.blob(path)), blob)
  }

  /** @throws NOT_A_FILE where the path is a folder; NOT_FOUND */
  async refuseNoFile(path: StoragePath, signal: AbortSignal): Promise<never> {
    if (path === '' || (await this.#subfolders.find(path, signal)) === 'folder') throw notAFile()
    throw notFound()
  }

  /**
   * Checks that no folder has this path and no file has the path of a parent, before a file is written. It sends one HEAD and
   * one listing, unless the folders beside the file are known, and one HEAD for each parent that was not checked lately. The
   * write itself checks for an existing file.
   * @throws NOT_A_FILE or ALREADY_EXISTS over a folder; NOT_A_DIRECTORY where a parent is a file
   */
  async refuseFolder(path: StoragePath, overwrite: boolean, signal: AbortSignal): Promise<void> {
    this.#subfolders.noteEntry(path)
    const [, isFolder] = await Promise.all([
      this.refuseFilesAbove(path, signal),
      this.#subfolders.isFolderForWrite(path, signal),
    ])
    if (isFolder) throw overwrite ? notAFile() : alreadyExists()
  }

  /** @throws NOT_A_DIRECTORY */
  async refuseFilesAbove(path: StoragePath, signal: AbortSignal): Promise<void> {
    const now = performance.now()
    const unknown = ancestorsOf(path)
      .slice(1)
      .filter(parent => (this.#notFiles.get(parent) ?? 0) < now)
    const blobs = await Promise.all(unknown.map(parent => this.#container.head(this.#keys.blob(parent), signal)))
    const blocking = unknown.find((_, i) => blobs[i]?.isFolder === false)
    if (blocking !== undefined) {
      throw new StorageError('NOT_A_DIRECTORY', `"${nameOf(blocking)}" in this path is a file, not a folder.`)
    }
    if (this.#notFiles.size > maxRemembered) this.#notFiles.clear()
    for (const parent of unknown) this.#notFiles.set(parent, now + notFileTime)
  }

  /** Call this after creating a file. */
  noteFile(path: StoragePath): void {
    this.#notFiles.delete(path)
  }

  async make(path: StoragePath, { exclusive, signal }: { exclusive: boolean; signal: AbortSignal }): Promise<void> {
    if (path === '' && exclusive) throw alreadyExists()
    if (path === '') return
    const [, found] = await Promise.all([this.refuseFilesAbove(path, signal), this.#subfolders.find(path, signal)])
    if (found && (found !== 'folder' || exclusive)) throw alreadyExists()
    if (found || (await this.#create(path, signal))) return
    // Another call was faster.
    if (exclusive || (await this.#subfolders.find(path, signal)) !== 'folder') throw alreadyExists()
  }

  /** Call this after deleting an entry: keeps the parent folder if that was its last entry. */
  async keepParent(path: StoragePath): Promise<void> {
    const parent = parentOf(path)
    if (this.#isHierarchical || parent === '' || (await this.#subfolders.find(parent)) !== undefined) return
    await this.#create(parent)
  }

  below(path: StoragePath, signal: AbortSignal): Promise<Below> {
    return this.#subfolders.below(path, signal)
  }

  /** Returns false if something exists at the path. */
  async #create(path: StoragePath, signal?: AbortSignal): Promise<boolean> {
    const key = this.#keys.blob(path)
    this.#subfolders.noteEntry(path)
    this.#subfolders.noteFolder(path)
    try {
      if (this.#isHierarchical) await makeDirectory(this.#container, key, signal)
      else await this.#mark(key, signal)
      return true
    } catch (error) {
      if (hasCode(error, 'ALREADY_EXISTS', 'PRECONDITION_FAILED')) return false
      throw error
    }
  }

  async #mark(key: string, signal: AbortSignal | undefined): Promise<void> {
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'if-none-match': '*', [`x-ms-meta-${folderMark}`]: 'true' }
    await this.#container.call({ method: 'PUT', key, headers }, signal)
  }
}
