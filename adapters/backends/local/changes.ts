/** Reports what has changed below the root of a local provider, from file system events: see docs/decisions/008-file-system-events.md. */
import { randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { lstat, readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { inParallel } from '../../bases/limits.ts'
import { type Call, type ChangesPage, nameOf, parentOf, type StoragePath, segmentsOf } from '../../contract.ts'
import { hasErrno } from './errors.ts'
import { inside, isReserved, self } from './names.ts'
import { openChild, type Root, release, withDirectory } from './open.ts'
import { PendingChanges } from './pending.ts'
import { type FolderWatches, TooManyFolders } from './watches.ts'

/** Milliseconds until the host asks again. */
export const changesInterval = 1000
/** Milliseconds without a call after which nothing is watched any more. */
const idleTime = 5 * 60_000
/** Milliseconds after which too many folders are counted again. */
const retryTime = 60 * 60_000
/** The maximum number of entries that came or went and were not looked at yet. If there are more, all watches begin again. */
const maxMoved = 50_000
/** Folders that went and are remembered. With more, the host looks below each new folder. */
const maxGone = 10_000
/** Milliseconds in which entries that come or go are gathered. */
const gatherTime = 1000
/** Names that are looked at one by one. For more, their folder is read, unless it has many times as many entries. */
const namesOfList = 16
/** Entries that are read in the time of one look. */
const entriesPerLook = 16
/** Folders that are read at once, as all work shares the thread pool. */
const readsAtOnce = 2
/** Milliseconds for which the watches of a tree give way to many listings, in total. */
const maxHeld = 120_000
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

  /**
   * @param call.isBusy whether many folders are listed at present: then no further folder is watched for a while, because everything is
   * compared after all folders are watched, and a new catalogue is filled sooner
   * @throws UNAVAILABLE where the root is missing, and other errors of the disk
   */
  async changes(cursor: string | null, { signal, isBusy }: Call & { isBusy: boolean }): Promise<ChangesPage | null> {
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
    this.#watching.hold(isBusy)
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
  /** The number of its entries when it was last read. */
  size: number
  /** The watched folders in it. */
  below: Set<StoragePath>
}

/** A folder that has just been watched. */
interface NewFolder {
  path: StoragePath
  /** The names of the folders in it. */
  children: readonly string[]
  isEmpty: boolean
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
  /** Where folders went: the host may not know yet that their content is gone. */
  readonly #gone = new Set<StoragePath>()
  #position = 0
  readonly #pending = new PendingChanges()
  /** Everything may have changed before all folders were watched, or while events were lost. */
  #isUnknown = true
  #wasUnknown = false
  /** Resolves when further folders may be watched; null if they may now. */
  #held: PromiseWithResolvers<void> | null = null
  readonly #holdUntil = performance.now() + maxHeld
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
    this.#wasUnknown = this.#isUnknown && cursor !== null && this.#isReady
    if (this.#wasUnknown) {
      this.#isUnknown = false
      this.#pending.clear()
      return { changed: 'everything', cursor: this.#next(), hasMore: false }
    }
    const changed = cursor === null ? [] : this.#pending.take()
    const isSame = cursor !== null && isLast && changed.length === 0
    return { changed, cursor: isSame ? cursor : this.#next(), hasMore: cursor !== null && this.#pending.size > 0 }
  }

  /** Stops the watching of more folders until the next call with `false`, for a bounded time at most. */
  hold(isHeld: boolean): void {
    if (isHeld && performance.now() < this.#holdUntil) {
      this.#held ??= Promise.withResolvers()
      return
    }
    this.#held?.resolve()
    this.#held = null
  }

  #takeBack(): void {
    this.#isUnknown ||= this.#wasUnknown
    this.#pending.takeBack()
  }

  close(): void {
    this.#ending.abort()
    this.hold(false)
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

  /** Watches everything anew, because the events of some folders may have been lost. */
  #beginAgain(): void {
    this.#isUnknown = true
    this.#gone.clear()
    this.#moved.clear()
    this.#moved.add(top)
    void this.#settle()
  }

  #onEvent(folder: StoragePath, name: string | null, isMoved: boolean): void {
    if (name === null) {
      this.#beginAgain()
      return
    }
    if (isHidden(name)) return
    const path = pathOf(folder, name)
    this.#pending.add(path, false)
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
        if (moved.includes(top)) await this.#watchAll()
        else await this.#watchMoved(moved)
        // Others that come or go meanwhile are looked at together.
        if (this.#moved.size > 0) await sleep(gatherTime, undefined, { signal: this.#ending.signal, ref: false })
      }
    } catch (error) {
      if (!this.#ending.signal.aborted) this.failure = { error }
    } finally {
      this.#isSettling = false
    }
  }

  async #watchAll(): Promise<void> {
    const { signal } = this.#ending
    this.#drop(top)
    await this.#watchBelow([await withDirectory(this.#root, [], signal, directory => this.#watch(top, directory))])
  }

  /** Forgets the folders at these paths, and watches the folders that are there now. */
  async #watchMoved(paths: readonly StoragePath[]): Promise<void> {
    // The inode of a folder that was removed may be that of its successor, so the watch of a path says nothing.
    for (const path of paths) {
      if (this.#folders.has(path) && this.#gone.size <= maxGone) this.#gone.add(path)
      this.#drop(path)
    }
    for (const [parent, moved] of Map.groupBy(paths, parentOf)) {
      const names = new Set(moved.map(nameOf))
      const found = await this.#inFolder(parent, async directory => {
        const folders = await this.#foldersAmong(names, parent, directory)
        return await this.#watchChildren(parent, directory, folders, readsAtOnce)
      })
      await this.#watchBelow(found)
      for (const { path, isEmpty } of found) {
        // The events do not tell what was in a folder before it was watched.
        if (isEmpty && !this.#gone.has(path) && this.#gone.size <= maxGone) continue
        this.#pending.add(path, true)
        // The host looks at all of it. If the folder goes again, it comes back.
        this.#gone.delete(path)
      }
    }
  }

  /** Returns which of the names in a folder are those of folders now. */
  async #foldersAmong(names: ReadonlySet<string>, parent: StoragePath, directory: FileHandle): Promise<string[]> {
    const watched = this.#folders.get(parent)
    if (names.size <= Math.max(namesOfList, (watched?.size ?? 0) / entriesPerLook))
      return foldersNamed(directory, names)
    const { folders, size } = await foldersIn(directory)
    if (watched) watched.size = size
    return folders.filter(name => names.has(name))
  }

  /** Watches everything below watched folders. */
  async #watchBelow(folders: readonly NewFolder[]): Promise<void> {
    for (let level = folders; level.length > 0; ) {
      const next: NewFolder[] = []
      const atOnce = level.length > 1 ? 1 : readsAtOnce
      await inParallel(level, readsAtOnce, async ({ path, children }) => {
        if (children.length === 0) return
        await this.#held?.promise
        const found = await this.#inFolder(path, directory => this.#watchChildren(path, directory, children, atOnce))
        for (const folder of found) next.push(folder)
      })
      level = next
    }
  }

  /** Watches folders in an open directory, which saves the way from the root for each of them. */
  async #watchChildren(
    parent: StoragePath,
    directory: FileHandle,
    names: readonly string[],
    atOnce: number,
  ): Promise<NewFolder[]> {
    const found: NewFolder[] = []
    await inParallel(names, atOnce, async name => {
      this.#ending.signal.throwIfAborted()
      const child = await openChild(directory, name).catch(ignoreAbsent)
      if (!child) return
      try {
        const folder = await this.#watch(pathOf(parent, name), child).catch(ignoreAbsent)
        if (folder) found.push(folder)
      } finally {
        release(child)
      }
    })
    return found
  }

  /** Watches one folder, and returns those in it. It watches first, so that nothing that comes meanwhile is missed. */
  async #watch(path: StoragePath, directory: FileHandle): Promise<NewFolder> {
    const onEvent = (name: string | null, isMoved: boolean) => this.#onEvent(path, name, isMoved)
    const end = await this.#watches.watch(self(directory), { onEvent })
    const watched = this.#keep(path, end)
    const { folders, size } = await foldersIn(directory)
    watched.size = size
    return { path, children: folders, isEmpty: size === 0 }
  }

  /** Returns nothing for a folder that has gone since, or that the server may not read: then no listing shows what is in it. */
  async #inFolder(
    path: StoragePath,
    use: (directory: FileHandle) => Promise<NewFolder[]>,
  ): Promise<readonly NewFolder[]> {
    const { signal } = this.#ending
    return (await withDirectory(this.#root, segmentsOf(path), signal, use).catch(ignoreAbsent)) ?? []
  }

  #keep(path: StoragePath, end: () => void): WatchedFolder {
    const before = this.#folders.get(path)
    const watched = { end, size: 0, below: before?.below ?? new Set<StoragePath>() }
    if (this.#ending.signal.aborted) {
      end()
      return watched
    }
    before?.end()
    this.#folders.set(path, watched)
    if (path !== top) this.#folders.get(parentOf(path))?.below.add(path)
    return watched
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

/** @returns the names of the folders in a directory, and the number of all of its entries */
async function foldersIn(directory: FileHandle): Promise<{ folders: string[]; size: number }> {
  const entries = await readdir(self(directory), { withFileTypes: true })
  const folders = entries.flatMap(entry => (entry.isDirectory() && !isHidden(entry.name) ? [entry.name] : []))
  return { folders, size: entries.length }
}

async function foldersNamed(directory: FileHandle, names: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = []
  for (const name of names) {
    if ((await lstat(inside(directory, name)).catch(ignoreAbsent))?.isDirectory()) found.push(name)
  }
  return found
}

/** Errors that say that there is no folder, or none that the server may see. */
const absent = ['NOT_FOUND', 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENAMETOOLONG'] as const

function ignoreAbsent(error: unknown): null {
  if (hasErrno(error, ...absent)) return null
  throw error
}

/** No listing shows entries with these names. */
const isHidden = (name: string) => isReserved(name) || name === hostTrash

const pathOf = (folder: StoragePath, name: string) => (folder === '' ? name : `${folder}/${name}`) as StoragePath
