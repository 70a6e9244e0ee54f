import { ancestorsOf, nameOf, orAborted, parentOf, type StoragePath } from '../contract.ts'
import type { Container } from './container.ts'
import type { Described } from './entry.ts'
import { isStaging, type Keys } from './keys.ts'
import { listBlobs } from './list.ts'

/** Milliseconds for which the folders in a folder are remembered. */
const knownTime = 5_000
const maxKnown = 1000
/** Folders with more entries are not remembered. */
const maxEntries = 1000
/** The number of blobs that suffices to find one that is neither a marker nor an unfinished upload. */
const pageSize = 10

export interface Below {
  hasEntries: boolean
  /** True where a blob marks the folder with the name `<folder>/`, as other programs write it. */
  hasMarker: boolean
}

interface Known {
  /** As of `performance.now()`. */
  until: number
  /** Names of folders that were made since. */
  made: Set<string>
  /** Names of folders; null for too many entries. Undefined until the second question. */
  names?: Promise<ReadonlySet<string> | null>
}

/** Tells whether a path is a folder. Many files often go into one folder, so the second of them lists the folders in it. */
export class Subfolders {
  readonly #container: Container
  readonly #keys: Keys
  readonly #isHierarchical: boolean
  readonly #known = new Map<StoragePath, Known>()

  constructor(container: Container, keys: Keys, isHierarchical: boolean) {
    this.#container = container
    this.#keys = keys
    this.#isHierarchical = isHierarchical
  }

  /** Returns the blob at a path, or `folder` where blobs below the path make it one; undefined for nothing. */
  async find(path: StoragePath, signal?: AbortSignal): Promise<Described | 'folder' | undefined> {
    if (path === '') return 'folder'
    const [blob, below] = await Promise.all([
      this.#container.head(this.#keys.blob(path), signal),
      this.#isHierarchical ? undefined : this.below(path, signal),
    ])
    if (blob) return blob.isFolder ? 'folder' : blob
    return below?.hasEntries || below?.hasMarker ? 'folder' : undefined
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

  /** Returns true where a path is a folder, but may miss one that somebody else has made in the last seconds. */
  async isFolderForWrite(path: StoragePath, signal: AbortSignal): Promise<boolean> {
    const isFolder = async () => (await this.find(path, signal)) === 'folder'
    const parent = parentOf(path)
    const known = this.#known.get(parent)
    if (!known || known.until < performance.now()) {
      if (this.#known.size >= maxKnown) this.#known.clear()
      this.#known.set(parent, { until: performance.now() + knownTime, made: new Set() })
      return await isFolder()
    }
    known.names ??= this.#list(parent)
    const names = await orAborted(
      known.names.catch(() => null),
      signal,
    )
    const name = nameOf(path)
    // A folder may have been deleted since.
    return !names || names.has(name) || known.made.has(name) ? await isFolder() : false
  }

  /** Call this before creating an entry, which makes a folder of everything above it. */
  noteEntry(path: StoragePath): void {
    for (const folder of ancestorsOf(path).slice(1)) this.noteFolder(folder)
  }

  noteFolder(path: StoragePath): void {
    this.#known.get(parentOf(path))?.made.add(nameOf(path))
  }

  /** Without a signal, because several writes share it. */
  async #list(path: StoragePath): Promise<ReadonlySet<string> | null> {
    const prefix = this.#keys.folder(path)
    const page = await listBlobs(this.#container, { prefix, delimiter: '/', limit: maxEntries })
    if (page.marker !== '') return null
    const folders = page.items.filter(({ blob }) => !blob || blob.isFolder)
    return new Set(folders.map(({ key = '' }) => key.slice(prefix.length).replace(/\/$/, '')))
  }
}
