/** Reports what has changed below the root of a local provider, from file system events: see docs/decisions/008-file-system-events.md. */
import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { lstat, readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { inParallel } from '../../bases/limits.ts'
import {
  type Call,
  type ChangedEntry,
  type ChangesPage,
  nameOf,
  parentOf,
  type StoragePath,
  segmentsOf,
} from '../../contract.ts'
import { hasErrno } from './errors.ts'
import { inside, isReserved, self } from './names.ts'
import { type Root, withDirectory } from './open.ts'
import { type FolderWatches, TooManyFolders } from './watches.ts'

/** Milliseconds until the host asks again. */
export const changesInterval = 1000
/** Milliseconds without a call after which nothing is watched any more. */
const idleTime = 5 * 60_000
/** Milliseconds after which too many folders are counted again. */
const retryTime = 60 * 60_000
/** Changes in one page, from the contract. */
const maxPage = 1000
/** The maximum number of paths that wait for the host. If there are more, one change of the folder around them replaces all. */
const maxPending = 5000
/** The maximum number of entries that came or went and were not looked at yet. If there are more, all watches begin again. */
const maxMoved = 50_000
/** Milliseconds in which entries that come or go are gathered. */
const gatherTime = 100
/** Names that are looked at one by one. For more, their folder is read. */
const namesOfList = 16
/** Folders that are read at once, as all work shares the thread pool. */
const readsAtOnce = 2
/** The folder of deleted entries, which the host makes and no listing shows. */
const hostTrash = '.stowage-trash'

interface LocalChangesOptions {
  root: Root
  watches: FolderWatches
  warn(message: string, details: Record<string, unknown>): void
}

/** Watches all folders while somebody asks for changes. */
export class LocalChanges {
  readonly #options: LocalChangesOptions
  #watching: TreeWatch | null = null
  #retryAt = 0
  #idle: NodeJS.Timeout | undefined

  constructor(options: LocalChangesOptions) {
    this.#options = options
  }

  /** @throws UNAVAILABLE where the root is missing, and other errors of the disk */
  async changes(cursor: string | null, { signal }: Call): Promise<ChangesPage | null> {
    const { root, watches, warn } = this.#options
    if (performance.now() < this.#retryAt) return null
    try {
      // The root may have been replaced, or its disk unmounted. The watches then see nothing.
      await withDirectory(root, [], signal, async () => {})
    } catch (error) {
      this.close()
      throw error
    }
    this.#watching ??= new TreeWatch(root, watches)
    const { failure } = this.#watching
    if (failure) {
      this.close()
      if (!(failure.error instanceof TooManyFolders)) throw failure.error
      this.#retryAt = performance.now() + retryTime
      warn('There are too many folders to follow the changes that others make: they are found once a day', {
        root: root.path,
        error: failure.error,
      })
      return null
    }
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.close(), idleTime).unref()
    return this.#watching.page(cursor)
  }

  /** Ends the watches. The next call of `changes` begins new ones. */
  close(): void {
    clearTimeout(this.#idle)
    this.#watching?.close()
    this.#watching = null
  }
}

interface WatchedFolder {
  end(): void
  /** The watched folders in it. */
  below: Set<StoragePath>
}

/** The watches of one tree, from a beginning to an end. Its cursors say nothing to another one. */
class TreeWatch {
  readonly #id = randomUUID()
  readonly #root: Root
  readonly #watches: FolderWatches
  readonly #ending = new AbortController()
  readonly #forget: () => void
  readonly #folders = new Map<StoragePath, WatchedFolder>()
  /** Entries that came or went, and whose folders have to be watched or forgotten. */
  readonly #moved = new Set<StoragePath>([top])
  #isSettling = false
  #position = 0
  /** The paths that have changed since the last page, and whether anything below them has. */
  #pending = new Map<StoragePath, boolean>()
  /** The folder that stands for all that has changed in it, as there was too much. */
  #around: StoragePath | null = null
  /** The content of the last page, in case the host asks for it again. */
  #sent = new Map<StoragePath, boolean>()
  /** Everything may have changed before all folders were watched, or while events were lost. */
  #isUnknown = true
  #wasUnknown = false
  failure: { error: unknown } | null = null

  constructor(root: Root, watches: FolderWatches) {
    this.#root = root
    this.#watches = watches
    this.#forget = watches.onLost(() => this.#beginAgain())
    void this.#settle()
  }

  /** Returns what has changed since the page before, or repeats that page. */
  page(cursor: string | null): ChangesPage {
    const [id, position] = cursor?.split('.') ?? []
    const isLast = id === this.#id && position === String(this.#position)
    if (id === this.#id && position === String(this.#position - 1)) this.#takeBack()
    else if (cursor !== null && !isLast) this.#isUnknown = true
    this.#sent = new Map()
    this.#wasUnknown = this.#isUnknown && cursor !== null && this.#isReady
    if (this.#wasUnknown) {
      this.#isUnknown = false
      this.#pending.clear()
      return { changed: 'everything', cursor: this.#next(), hasMore: false }
    }
    if (cursor !== null) this.#send()
    const changed = Array.from(this.#sent, ([path, isTree]): ChangedEntry => ({ path, isTree }))
    const isSame = cursor !== null && isLast && changed.length === 0
    return { changed, cursor: isSame ? cursor : this.#next(), hasMore: cursor !== null && this.#pending.size > 0 }
  }

  close(): void {
    this.#ending.abort()
    this.#forget()
    this.#drop(top)
  }

  /** All folders are watched. */
  get #isReady(): boolean {
    return this.#folders.has(top) && !this.#isSettling
  }

  #next(): string {
    this.#position += 1
    return `${this.#id}.${this.#position}`
  }

  #send(): void {
    for (const [path, isTree] of this.#pending) {
      if (this.#sent.size === maxPage) return
      this.#sent.set(path, isTree)
      this.#pending.delete(path)
    }
  }

  #takeBack(): void {
    this.#isUnknown ||= this.#wasUnknown
    for (const [path, isTree] of this.#sent) this.#add(path, isTree)
  }

  #add(path: StoragePath, isTree: boolean): void {
    const around = this.#around
    if (around !== null && this.#pending.has(around) && path.startsWith(around === top ? '' : `${around}/`)) return
    this.#pending.set(path, isTree || (this.#pending.get(path) ?? false))
    if (this.#pending.size <= maxPending) return
    this.#around = folderAround(this.#pending)
    this.#pending = new Map([[this.#around, true]])
  }

  /** Watches everything anew, because the events of some folders may have been lost. */
  #beginAgain(): void {
    this.#isUnknown = true
    this.#moved.clear()
    this.#moved.add(top)
    void this.#settle()
  }

  #onEvent(folder: StoragePath, bytes: Buffer | null, isMoved: boolean): void {
    if (bytes === null) {
      this.#beginAgain()
      return
    }
    // No listing has names that are not UTF-8.
    if (!isUtf8(bytes) || isHidden(bytes.toString('utf8'))) return
    const path = pathOf(folder, bytes.toString('utf8'))
    this.#add(path, false)
    if (!isMoved || this.#moved.has(top)) return
    this.#moved.add(path)
    if (this.#moved.size > maxMoved) this.#beginAgain()
    else void this.#settle()
  }

  /** Watches folders that came, and forgets those that went. */
  async #settle(): Promise<void> {
    if (this.#isSettling) return
    this.#isSettling = true
    try {
      while (this.#moved.size > 0 && !this.#ending.signal.aborted) {
        const moved = [...this.#moved]
        this.#moved.clear()
        for (const path of moved.includes(top) ? [top] : await this.#foldersAmong(moved)) await this.#watchTree(path)
        // Others that come or go meanwhile are looked at together.
        if (this.#moved.size > 0) await sleep(gatherTime, undefined, { signal: this.#ending.signal, ref: false })
      }
    } catch (error) {
      if (!this.#ending.signal.aborted) this.failure = { error }
    } finally {
      this.#isSettling = false
    }
  }

  /** Watches a folder and everything below it. */
  async #watchTree(path: StoragePath): Promise<void> {
    if (path === top) this.#drop(top)
    for (let level = [path]; level.length > 0; ) {
      const below: StoragePath[] = []
      await inParallel(level, readsAtOnce, async each => {
        for (const child of await this.#watchFolder(each)) below.push(child)
      })
      level = below
    }
    if (path !== top) this.#add(path, true)
  }

  /** Forgets the folders at these paths, and returns the paths at which there are folders now. */
  async #foldersAmong(paths: readonly StoragePath[]): Promise<StoragePath[]> {
    // The inode of a folder that was removed may be that of its successor, so the watch of a path says nothing.
    for (const path of paths) this.#drop(path)
    const found: StoragePath[] = []
    for (const [parent, moved] of Map.groupBy(paths, parentOf)) {
      const names = new Set(moved.map(nameOf))
      const folders = await withDirectory(this.#root, segmentsOf(parent), this.#ending.signal, directory =>
        names.size > namesOfList ? foldersIn(directory) : foldersNamed(directory, names),
      ).catch(error => {
        if (hasErrno(error, ...absent)) return []
        throw error
      })
      for (const name of folders) if (names.has(name)) found.push(pathOf(parent, name))
    }
    return found
  }

  /** Watches one folder, and returns those in it. It watches first, so that none that comes meanwhile is missed. */
  async #watchFolder(path: StoragePath): Promise<StoragePath[]> {
    const { signal } = this.#ending
    const onEvent = (name: Buffer | null, isMoved: boolean) => this.#onEvent(path, name, isMoved)
    try {
      return await withDirectory(this.#root, segmentsOf(path), signal, async directory => {
        this.#keep(path, await this.#watches.watch(self(directory), { onEvent }))
        return (await foldersIn(directory)).map(name => pathOf(path, name))
      })
    } catch (error) {
      // The folder has gone since, or the server may not read it: then no listing shows what is in it.
      if (path !== top && hasErrno(error, ...absent)) return []
      throw error
    }
  }

  #keep(path: StoragePath, end: () => void): void {
    if (this.#ending.signal.aborted) {
      end()
      return
    }
    this.#folders.get(path)?.end()
    this.#folders.set(path, { end, below: this.#folders.get(path)?.below ?? new Set() })
    if (path !== top) this.#folders.get(parentOf(path))?.below.add(path)
  }

  /** Ends the watches of a folder and of all below it. */
  #drop(path: StoragePath): void {
    const folder = this.#folders.get(path)
    if (!folder) return
    for (const child of folder.below) this.#drop(child)
    folder.end()
    this.#folders.delete(path)
    this.#folders.get(parentOf(path))?.below.delete(path)
  }
}

const top = '' as StoragePath

async function foldersIn(directory: FileHandle): Promise<string[]> {
  const entries = await readdir(self(directory), { withFileTypes: true, encoding: 'buffer' })
  return entries.flatMap(entry => {
    const name = entry.name.toString('utf8')
    return entry.isDirectory() && isUtf8(entry.name) && !isHidden(name) ? [name] : []
  })
}

async function foldersNamed(directory: FileHandle, names: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = []
  for (const name of names) {
    const stats = await lstat(inside(directory, name)).catch(error => {
      if (hasErrno(error, ...absent)) return null
      throw error
    })
    if (stats?.isDirectory()) found.push(name)
  }
  return found
}

/** Errors that say that there is no folder, or none that the server may see. */
const absent = ['NOT_FOUND', 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENAMETOOLONG'] as const

/** No listing shows entries with these names. */
const isHidden = (name: string) => isReserved(name) || name === hostTrash

const pathOf = (folder: StoragePath, name: string) => (folder === '' ? name : `${folder}/${name}`) as StoragePath

/** Returns the deepest folder that contains all of the changes. */
function folderAround(changes: ReadonlyMap<StoragePath, boolean>): StoragePath {
  let around: StoragePath | null = null
  for (const [path, isTree] of changes) {
    around ??= isTree ? path : parentOf(path)
    while (around !== top && path !== around && !path.startsWith(`${around}/`)) around = parentOf(around)
  }
  return around ?? top
}
