import { maxEntries, Parents, Subfolders } from '../../bases/objects/folders.ts'
import { type Call, childOf, type Entry, nameOf, parentOf, StorageError, type StoragePath } from '../../contract.ts'
import type { Container } from './container.ts'
import { type Described, fileEntry, folderEntry, folderMark, isStaging, type Keys } from './entry.ts'
import { alreadyExists, hasCode, notAFile, notFound } from './errors.ts'
import { makeDirectory, removeDirectory } from './hierarchy.ts'
import { listBlobs } from './list.ts'

/** The number of blobs that suffices to find one that is neither a marker nor an unfinished upload. */
const pageSize = 10

export interface Below {
  hasEntries: boolean
  /** True where a blob marks the folder with the name `<folder>/`, as other programs write it. */
  hasMarker: boolean
}

/**
 * With a hierarchical namespace, folders are real. Without one, a folder exists while any blob lies below it. An empty folder
 * is an empty blob with the name of the folder and the metadata `hdi_isfolder`.
 */
export class Folders {
  readonly #container: Container
  readonly #keys: Keys
  readonly #isHierarchical: boolean
  readonly #parents: Parents
  readonly #subfolders: Subfolders

  constructor(container: Container, keys: Keys, isHierarchical: boolean) {
    this.#container = container
    this.#keys = keys
    this.#isHierarchical = isHierarchical
    this.#parents = new Parents(async (path, signal) => {
      return (await container.head(keys.blob(path), signal))?.isFolder === false
    })
    this.#subfolders = new Subfolders({
      isFolder: async (path, signal) => (await this.#find(path, signal)) === 'folder',
      foldersIn: path => this.#foldersIn(path),
    })
  }

  /** @throws NOT_FOUND */
  async stat(path: StoragePath, signal: AbortSignal): Promise<Entry> {
    // The root always exists, but the credentials may not.
    if (path === '') await this.below(path, signal)
    const found = await this.#find(path, signal)
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
    if (path === '' || (await this.#find(path, signal)) === 'folder') throw notAFile()
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
      this.#subfolders.isFolder(path, signal),
    ])
    if (isFolder) throw overwrite ? notAFile() : alreadyExists()
  }

  /** @throws NOT_A_DIRECTORY */
  refuseFilesAbove(path: StoragePath, signal: AbortSignal): Promise<void> {
    return this.#parents.refuseFiles(path, signal)
  }

  /** Call this after creating a file. */
  noteFile(path: StoragePath): void {
    this.#parents.noteFile(path)
  }

  async make(path: StoragePath, { exclusive, signal }: { exclusive: boolean; signal: AbortSignal }): Promise<void> {
    if (path === '' && exclusive) throw alreadyExists()
    if (path === '') return
    const [, found] = await Promise.all([this.refuseFilesAbove(path, signal), this.#find(path, signal)])
    if (found && (found !== 'folder' || exclusive)) throw alreadyExists()
    if (found || (await this.#create(path, signal))) return
    // Another call was faster.
    if (exclusive || (await this.#find(path, signal)) !== 'folder') throw alreadyExists()
  }

  /** Call this after deleting an entry: keeps the parent folder if that was its last entry. */
  async keepParent(path: StoragePath): Promise<void> {
    const parent = parentOf(path)
    if (this.#isHierarchical || parent === '' || (await this.#find(parent)) !== undefined) return
    await this.#create(parent)
  }

  /** Returns what lies below a path. */
  async below(path: StoragePath, signal?: AbortSignal): Promise<Below> {
    const prefix = this.#keys.folder(path)
    const found: Below = { hasEntries: false, hasMarker: false }
    for (let marker: string | undefined; ; ) {
      // A page may be empty although others follow, and unfinished uploads do not count.
      const page = await listBlobs(this.#container, { prefix, limit: pageSize, marker }, signal)
      found.hasMarker ||= page.items.some(({ key }) => key === prefix)
      found.hasEntries = page.items.some(({ key }) => key !== prefix && !isStaging(key?.slice(prefix.length) ?? ''))
      if (found.hasEntries || page.marker === '') return found
      marker = page.marker
    }
  }

  /** Returns the blob at a path, or `folder` where blobs below the path make it one; undefined for nothing. */
  async #find(path: StoragePath, signal?: AbortSignal): Promise<Described | 'folder' | undefined> {
    if (path === '') return 'folder'
    const [blob, below] = await Promise.all([
      this.#container.head(this.#keys.blob(path), signal),
      this.#isHierarchical ? undefined : this.below(path, signal),
    ])
    if (blob) return blob.isFolder ? 'folder' : blob
    return below?.hasEntries || below?.hasMarker ? 'folder' : undefined
  }

  /** Returns false if something exists at the path. */
  async #create(path: StoragePath, signal?: AbortSignal): Promise<boolean> {
    const key = this.#keys.blob(path)
    this.#subfolders.noteEntry(childOf(path, ''))
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

  async #foldersIn(path: StoragePath): Promise<ReadonlySet<string> | null> {
    const prefix = this.#keys.folder(path)
    const page = await listBlobs(this.#container, { prefix, delimiter: '/', limit: maxEntries })
    if (page.marker !== '') return null
    const folders = page.items.filter(({ blob }) => !blob || blob.isFolder)
    return new Set(folders.map(({ key = '' }) => key.slice(prefix.length).replace(/\/$/, '')))
  }
}

/** The number of concurrent deletions. */
const atOnce = 32
/** The maximum number of blobs in one listing. */
const removalPage = 1000

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
    const page = await listBlobs(container, { prefix, limit: removalPage, marker }, signal)
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
