import {
  ancestorsOf,
  type ListPage,
  nameOf,
  orAborted,
  parentOf,
  StorageError,
  type StoragePath,
} from '../../contract.ts'

/** Milliseconds for which a parent that is not a file is not checked again, as many files often go into one folder. */
const notFileTime = 5_000
const maxRemembered = 1000

/** Checks that no parent of a path is a file. */
export class Parents {
  readonly #isFile: (path: StoragePath, signal: AbortSignal) => Promise<boolean>
  /** Until when a path counts as no file, as of `performance.now()`. */
  readonly #notFiles = new Map<StoragePath, number>()

  constructor(isFile: (path: StoragePath, signal: AbortSignal) => Promise<boolean>) {
    this.#isFile = isFile
  }

  /** @throws NOT_A_DIRECTORY */
  async refuseFiles(path: StoragePath, signal: AbortSignal): Promise<void> {
    const now = performance.now()
    const unknown = ancestorsOf(path)
      .slice(1)
      .filter(parent => (this.#notFiles.get(parent) ?? 0) < now)
    const areFiles = await Promise.all(unknown.map(parent => this.#isFile(parent, signal)))
    const blocking = unknown.find((_, i) => areFiles[i])
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
}

/** Milliseconds for which the folders in a folder are remembered. */
const knownTime = 5_000
const maxKnown = 1000
/** Folders with more entries are not remembered. */
export const maxEntries = 1000

interface Known {
  /** As of `performance.now()`. */
  until: number
  /** Names of folders that were made since. */
  made: Set<string>
  /** Names of folders; null for too many entries. Undefined until the second question. */
  names?: Promise<ReadonlySet<string> | null>
}

export interface FolderLookup {
  isFolder(path: StoragePath, signal: AbortSignal): Promise<boolean>
  /** Returns the names of the folders in a folder; null where it has more than `maxEntries` entries. */
  foldersIn(path: StoragePath): Promise<ReadonlySet<string> | null>
}

/** Tells whether a path is a folder. Many files often go into one folder, so the second of them lists the folders in it. */
export class Subfolders {
  readonly #lookup: FolderLookup
  readonly #known = new Map<StoragePath, Known>()

  constructor(lookup: FolderLookup) {
    this.#lookup = lookup
  }

  /** May miss a folder that somebody else has made in the last seconds. */
  async isFolder(path: StoragePath, signal: AbortSignal): Promise<boolean> {
    const parent = parentOf(path)
    const known = this.#known.get(parent)
    if (!known || known.until < performance.now()) {
      if (this.#known.size >= maxKnown) this.#known.clear()
      this.#known.set(parent, { until: performance.now() + knownTime, made: new Set() })
      return await this.#lookup.isFolder(path, signal)
    }
    // Without a signal, because several writes share it.
    known.names ??= this.#lookup.foldersIn(parent)
    const names = await orAborted(
      known.names.catch(() => null),
      signal,
    )
    const name = nameOf(path)
    // A folder may have been deleted since.
    return !names || names.has(name) || known.made.has(name) ? await this.#lookup.isFolder(path, signal) : false
  }

  /** Call this before creating an entry, which makes a folder of everything above it. */
  noteEntry(path: StoragePath): void {
    for (const folder of ancestorsOf(path).slice(1)) this.#known.get(parentOf(folder))?.made.add(nameOf(folder))
  }
}

/** A page of a listing that groups keys by `/`. */
export interface FolderPage extends ListPage {
  /** Names that are not valid in a path; undefined for one that is not UTF-8. The listing leaves them out. */
  invalid: (string | undefined)[]
  /** Folders that have the same name as a file. The listing leaves them out. */
  hidden: string[]
  /** True where no key has the folder's prefix, not even that of a marker. */
  isMissing: boolean
}
