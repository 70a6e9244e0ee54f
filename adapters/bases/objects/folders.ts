/**
 * Folders of a store without folders: a folder exists while a key has its prefix, and an empty one has a marker. Where the store has
 * folders itself, they are those.
 */
import {
  ancestorsOf,
  type Call,
  childOf,
  type Entry,
  nameOf,
  orAborted,
  parentOf,
  StorageError,
  type StoragePath,
} from '../../contract.ts'
import { alreadyExists, folderEntry, notAFile, notFound } from '../errors.ts'
import { LruMap } from '../limits.ts'
import type { ObjectDriver } from './driver.ts'

/** Milliseconds for which facts about folders are remembered, as many files often go into one folder. */
const knownTime = 5_000
/** The maximum number of paths in each memory. */
const maxKnown = 1000
/** The names in a folder with more entries are not remembered. */
const maxNames = 1000
/** The number of keys that suffices to find one that is neither a marker nor hidden. */
const someKeys = 10
/** The maximum number of keys in one listing of keys to delete. */
const removalPage = 1000

interface Below {
  hasEntries: boolean
  /** True where the folder has a marker with the key `<folder>/`. */
  hasMarker: boolean
}

/** The folders in a folder, of which the first question begins to remember those that are made. */
interface KnownFolders {
  /** As of `performance.now()`. */
  until: number
  /** Names of folders that were made since. */
  made: Set<string>
  /** Names of folders; null for too many entries. Undefined until the second question. */
  names?: Promise<ReadonlySet<string> | null>
}

export class Folders<Facts extends object> {
  readonly #driver: ObjectDriver<Facts>
  /** Until when a path counts as no file, as of `performance.now()`. */
  readonly #notFiles = new LruMap<StoragePath, number>(maxKnown)
  readonly #known = new LruMap<StoragePath, KnownFolders>(maxKnown)

  constructor(driver: ObjectDriver<Facts>) {
    this.#driver = driver
  }

  folder(path: StoragePath): Entry {
    return folderEntry(nameOf(path), this.#driver.fileId(this.#driver.keys.folder(path)))
  }

  file(path: StoragePath, facts: Facts): Entry {
    return this.#driver.fileEntry(nameOf(path), this.#driver.keys.file(path), facts)
  }

  /** @throws NOT_FOUND */
  async stat(path: StoragePath, { signal }: Call): Promise<Entry> {
    // The root always exists, but the credentials may not.
    if (path === '') await this.below(path, signal)
    const facts = path === '' ? undefined : await this.#driver.head(this.#driver.keys.file(path), signal)
    if (facts && !this.#driver.isFolder(facts)) return this.file(path, facts)
    if (path === '' || facts || (await this.#hasKeys(path, signal))) return this.folder(path)
    throw notFound()
  }

  /** Returns the file at a path, or `folder`; undefined for nothing. */
  async find(path: StoragePath, signal?: AbortSignal): Promise<Facts | 'folder' | undefined> {
    if (path === '') return 'folder'
    const [facts, hasKeys] = await Promise.all([
      this.#driver.head(this.#driver.keys.file(path), signal),
      this.#hasKeys(path, signal),
    ])
    if (facts) return this.#driver.isFolder(facts) ? 'folder' : facts
    return hasKeys ? 'folder' : undefined
  }

  /** @throws NOT_A_FILE where the path is a folder; NOT_FOUND */
  async refuseNoFile(path: StoragePath, signal: AbortSignal): Promise<never> {
    throw (await this.#isFolder(path, signal)) ? notAFile() : notFound()
  }

  /**
   * Checks that no folder has this path and no file has the path of a parent, before a file is written. It looks for the folder,
   * unless the folders beside the file are known, and sends one HEAD for each parent that was not checked lately. The write itself
   * checks for an existing file.
   * @throws NOT_A_FILE or ALREADY_EXISTS over a folder; NOT_A_DIRECTORY where a parent is a file
   */
  async refuseFolder(path: StoragePath, overwrite: boolean, signal: AbortSignal): Promise<void> {
    this.#noteEntry(path)
    const [, isFolder] = await Promise.all([this.refuseFilesAbove(path, signal), this.#isKnownFolder(path, signal)])
    if (!isFolder) return
    if (!overwrite) throw alreadyExists()
    // Keys below a file's name are hidden from clients, so the file can be replaced.
    const isHidden =
      this.#driver.folderStyle === 'inside' && (await this.#driver.head(this.#driver.keys.file(path), signal))
    if (!isHidden) throw notAFile()
  }

  /** @throws NOT_A_DIRECTORY */
  async refuseFilesAbove(path: StoragePath, signal: AbortSignal): Promise<void> {
    const now = performance.now()
    const unknown = ancestorsOf(path)
      .slice(1)
      .filter(parent => (this.#notFiles.get(parent) ?? 0) < now)
    const found = await Promise.all(unknown.map(parent => this.#driver.head(this.#driver.keys.file(parent), signal)))
    const blocking = unknown.find((_, i) => found[i] !== undefined && !this.#driver.isFolder(found[i]))
    if (blocking !== undefined) {
      throw new StorageError('NOT_A_DIRECTORY', `"${nameOf(blocking)}" in this path is a file, not a folder.`)
    }
    for (const parent of unknown) this.#notFiles.set(parent, now + knownTime)
  }

  /** Call this after creating a file. */
  noteFile(path: StoragePath): void {
    this.#notFiles.delete(path)
  }

  /** @throws ALREADY_EXISTS, NOT_A_DIRECTORY */
  async make(path: StoragePath, { exclusive, signal }: Call & { exclusive: boolean }): Promise<void> {
    if (path === '' && exclusive) throw alreadyExists()
    if (path === '') return
    const [, found] = await Promise.all([this.refuseFilesAbove(path, signal), this.find(path, signal)])
    if (found && (found !== 'folder' || exclusive)) throw alreadyExists()
    if (found || (await this.#create(path, signal))) return
    // Another call was faster.
    if (exclusive || (await this.find(path, signal)) !== 'folder') throw alreadyExists()
  }

  /** Call this after deleting an entry: keeps the parent folder if that was its last entry. */
  async keepParent(path: StoragePath): Promise<void> {
    const parent = parentOf(path)
    if (this.#driver.folderStyle === 'real' || parent === '' || (await this.#isFolder(parent))) return
    await this.#create(parent)
  }

  async below(path: StoragePath, signal?: AbortSignal): Promise<Below> {
    const prefix = this.#driver.keys.folder(path)
    const found: Below = { hasEntries: false, hasMarker: false }
    for (let after: string | undefined; ; ) {
      // A page may be empty although others follow.
      const { items, next } = await this.#driver.list(prefix, { limit: someKeys, after }, signal)
      found.hasMarker ||= items.some(({ key }) => key === prefix)
      found.hasEntries = items.some(
        ({ key }) => key !== prefix && !this.#driver.isHidden(key?.slice(prefix.length) ?? '', false),
      )
      if (found.hasEntries || next === undefined) return found
      after = next
    }
  }

  /** Deletes every key below a folder, including those that are not valid paths. Returns false if there was none. */
  async empty(path: StoragePath, signal: AbortSignal): Promise<boolean> {
    const prefix = this.#driver.keys.folder(path)
    let hadKeys = false
    for (let after: string | undefined; ; ) {
      const { items, next } = await this.#driver.list(prefix, { limit: removalPage, after }, signal)
      const keys = items.flatMap(({ key }) => key ?? [])
      if (keys.length < items.length) {
        const message = 'Something in this folder has a name that is not UTF-8: delete it at the back end.'
        throw new StorageError('UNAVAILABLE', message)
      }
      await this.#driver.removeAll(keys, signal)
      hadKeys ||= keys.length > 0
      if (next === undefined) return hadKeys
      after = next
    }
  }

  /** Returns true where the prefix of a folder has keys, its marker included. Real folders have none of their own. */
  async #hasKeys(path: StoragePath, signal?: AbortSignal): Promise<boolean> {
    if (this.#driver.folderStyle === 'real') return false
    const { hasEntries, hasMarker } = await this.below(path, signal)
    return hasEntries || hasMarker
  }

  async #isFolder(path: StoragePath, signal?: AbortSignal): Promise<boolean> {
    if (this.#driver.folderStyle === 'inside') return path === '' || (await this.#hasKeys(path, signal))
    return (await this.find(path, signal)) === 'folder'
  }

  /** Returns false if something exists at the path. */
  async #create(path: StoragePath, signal?: AbortSignal): Promise<boolean> {
    // A marker may lie below the folder.
    this.#noteEntry(childOf(path, ''))
    return await this.#driver.makeFolder(path, signal)
  }

  /**
   * As `#isFolder`. Many files often go into one folder, so the second question lists the folders in it. It may miss a folder that
   * somebody else has made in the last seconds.
   */
  async #isKnownFolder(path: StoragePath, signal: AbortSignal): Promise<boolean> {
    const parent = parentOf(path)
    const known = this.#known.get(parent)
    if (!known || known.until < performance.now()) {
      this.#known.set(parent, { until: performance.now() + knownTime, made: new Set() })
      return await this.#isFolder(path, signal)
    }
    // Without a signal, because several writes share it.
    known.names ??= this.#foldersIn(parent)
    const names = await orAborted(
      known.names.catch(() => null),
      signal,
    )
    const name = nameOf(path)
    // A folder may have been deleted since.
    return !names || names.has(name) || known.made.has(name) ? await this.#isFolder(path, signal) : false
  }

  /** Call this before creating an entry, which makes a folder of everything above it. */
  #noteEntry(path: StoragePath): void {
    for (const folder of ancestorsOf(path).slice(1)) this.#known.get(parentOf(folder))?.made.add(nameOf(folder))
  }

  /** Returns the names of the folders in a folder; null where it has too many entries. */
  async #foldersIn(path: StoragePath): Promise<ReadonlySet<string> | null> {
    const prefix = this.#driver.keys.folder(path)
    const { items, next } = await this.#driver.list(prefix, { delimiter: '/', limit: maxNames })
    if (next !== undefined) return null
    const folders = items.filter(({ facts }) => !facts || this.#driver.isFolder(facts))
    return new Set(folders.map(({ key = '' }) => key.slice(prefix.length).replace(/\/$/, '')))
  }
}
