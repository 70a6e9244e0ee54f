/**
 * Lists folders, in the order of their paths, and makes the catalogue equal to what they contain. The walk stores each step in one
 * transaction together with its position, so another server continues it after a kill.
 */
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StoragePath } from '../../auth/path.ts'
import { type Catalogue, type CatalogueProgress, changeCatalogue } from '../../db/catalogue/catalogues.ts'
import { addTrees } from '../../db/catalogue/changes.ts'
import {
  addEntries,
  type CatalogueEntry,
  copyLineOf,
  deleteEntries,
  findEntries,
  findPopulated,
  type KnownEntry,
  listChildren,
  listFolders,
  putEntries,
} from '../../db/catalogue/entries.ts'
import { addOutside } from '../../db/catalogue/outside.ts'
import type { Database } from '../../db/client.ts'
import { AppError } from '../../errors.ts'
import { allDone } from '../../lib/limiter.ts'
import type { ProviderReader } from '../../storage/provider-reader.ts'
import { maxPageSize } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { compareNames } from '../files/list.ts'
import { CursorCheck } from '../files/tree.ts'
import { differences, factsOf, fits, isGone, isHidden, isOwnFault, isSame, toEntry } from './entry.ts'
import { FolderQueue } from './folder-queue.ts'
import { batchSize, type LeasedCatalogue, type Removed, removeAll, removeBelow } from './remove.ts'

/** Pages of one folder in one step. A larger folder takes several steps. */
const pagesPerStep = 4
/** The maximum number of folders in one step, and the number of entries after which a step lists no further folder. */
const foldersPerStep = 64
const entriesPerStep = 2000

export interface WalkContext extends LeasedCatalogue {
  reader: ProviderReader
}

interface Listed {
  folder: StoragePath
  /** Without those that the catalogue cannot hold. */
  entries: Map<StoragePath, CheckedEntry>
  /** The rows of the entries if the walk is the first one. They and their lines of COPY are made while others are stored. */
  rows: CatalogueEntry[]
  lines: string
  /** Null once the folder is listed to its end. */
  cursor: string | null
  cursors: CursorCheck
  /** These are all entries of the folder. */
  isWhole: boolean
  /** The back end no longer has the folder. */
  isGone: boolean
  /** Some entries are left out. */
  hasGaps: boolean
  /** The queue has the folders in it already. */
  isQueued: boolean
}

const isFolder = (entry: Removed) => entry.isFolder

/** A folder with more entries than one step lists. */
interface OpenFolder {
  folder: StoragePath
  cursor: string
  cursors: CursorCheck
  /** Hashes of the paths that were listed, or that a change has added meanwhile. Null if the catalogue had no entries to compare. */
  paths: Set<number> | null
}

/** Listings of several folders. */
interface Listings {
  folders: StoragePath[]
  listed: Promise<Listed[]>
  /** Lists no further folder. */
  end(): void
}

interface StepOptions {
  /** The maximum number of listings at the same time. */
  atOnce: number
  /** Whether nothing holds the work back: then the next folders are listed while these are stored. */
  isFast: boolean
}

/** Stores the position of a walk, and returns what to store of the catalogue. @param position.next null at the end */
type StorePosition = (trx: Database, position: { next: string | null; hasGaps: boolean }) => Promise<CatalogueProgress>

interface WalkOptions {
  /** The path from which on folders are listed; null to begin. */
  from: string | null
  hasGaps: boolean
  /** The catalogue has no entries of this part yet, which saves the comparison. */
  isFirst: boolean
  /** Lists the folder itself only. New folders in it get a walk of their own. */
  isShallow: boolean
  /** A difference may be a change that nobody has made through this server. */
  isOutside: boolean
  store: StorePosition
}

export class Walk {
  readonly #context: WalkContext
  readonly #top: StoragePath
  readonly #options: WalkOptions
  readonly #queue: FolderQueue
  readonly #open: OpenFolder[] = []
  /** Listings that have begun while those before are stored. */
  #ahead: Listings | null = null
  #isBegun: boolean
  #hasGaps: boolean

  constructor(context: WalkContext, top: StoragePath, options: WalkOptions) {
    const { db, catalogue } = context
    this.#context = context
    this.#top = top
    this.#options = options
    this.#hasGaps = options.hasGaps
    // A walk that ended within its first folder begins again. The root is no entry of the catalogue, so no query finds it.
    const from = options.from === top ? null : options.from
    this.#isBegun = from !== null
    this.#queue = new FolderQueue(from ?? `${top}\u0001`, (from, limit) =>
      listFolders(db, catalogue, top, { from, limit }),
    )
  }

  /** A folder is listed in part. Another walk lists it from its beginning. */
  get isInFolder(): boolean {
    return this.#open.length > 0
  }

  /** Names an entry that a change has added, so that a listing that began before does not remove it. */
  noteAdded(path: StoragePath): void {
    for (const { paths } of this.#open) paths?.add(hashOf(path))
  }

  /** Forgets listings that are not stored yet. Call it before a change is stored, which they may not show, and at the end. */
  forgetAhead(): void {
    if (!this.#ahead) return
    this.#ahead.end()
    this.#queue.add(this.#ahead.folders)
    this.#ahead = null
  }

  /** Lists the next folders. @returns the number of entries, and whether the walk has ended @throws as `ProviderReader.list` */
  async step(
    options: StepOptions,
    signal: AbortSignal,
  ): Promise<{ entries: number; isDone: boolean; catalogue: Catalogue }> {
    const [open] = this.#open
    if (open) return this.#stepOpen(open, signal)
    if (!this.#ahead && this.#isBegun && !this.#options.isShallow) await this.#queue.load()
    const { listed } = this.#ahead ?? this.#listNext(options, signal)
    this.#ahead = null
    return this.#settle(await listed, () => {
      if (!options.isFast || this.#open.length > 0) return
      const ahead = this.#listNext(options, signal)
      if (ahead.folders.length > 0) this.#ahead = ahead
    })
  }

  /** @param listings those of the present step: the folders in them are next where no others wait */
  #take(listings: readonly Listed[]): StoragePath | null {
    if (!this.#isBegun) {
      this.#isBegun = true
      return this.#top
    }
    if (this.#options.isShallow) return null
    const folder = this.#queue.take()
    if (folder !== null) return folder
    this.#queueFound(listings)
    return this.#queue.take()
  }

  #queueFound(listings: readonly Listed[]): void {
    const fresh = listings.filter(({ isQueued }) => !isQueued)
    this.#queue.add(fresh.flatMap(({ entries }) => foldersOf(entries)))
    for (const listed of fresh) listed.isQueued = true
  }

  /** Lists the next folders that are in memory. */
  #listNext({ atOnce, isFast }: StepOptions, signal: AbortSignal): Listings {
    const folders: StoragePath[] = []
    const found: Listed[] = []
    const converted: Promise<void>[] = []
    const ending = new AbortController()
    const either = AbortSignal.any([signal, ending.signal])
    const most = isFast ? foldersPerStep : atOnce
    let entries = 0
    const list = async () => {
      while (folders.length < most && entries < entriesPerStep && !either.aborted) {
        const folder = this.#take(found)
        if (folder === null) return
        folders.push(folder)
        const listed = await this.#list(folder, null, new CursorCheck(), either)
        found.push(listed)
        entries += listed.entries.size
        // The back end lists further folders meanwhile.
        converted.push(nextTurn().then(() => this.#makeRows(listed)))
      }
    }
    const listed = allDone(Array.from({ length: atOnce }, list))
      .then(() => allDone(converted))
      .then(() => found)
    // The next step waits for it, if there is one.
    listed.catch(() => {})
    return { folders, listed, end: () => ending.abort() }
  }

  async #stepOpen(open: OpenFolder, signal: AbortSignal) {
    const listed = await this.#list(open.folder, open.cursor, open.cursors, signal)
    this.#makeRows(listed)
    if (open.paths) for (const path of listed.entries.keys()) open.paths.add(hashOf(path))
    if (listed.cursor === null) {
      if (open.paths) await this.#removeUnlisted(open.folder, open.paths)
      this.#open.shift()
    } else open.cursor = listed.cursor
    return this.#settle([listed], () => {})
  }

  async #list(folder: StoragePath, from: string | null, cursors: CursorCheck, signal: AbortSignal): Promise<Listed> {
    const entries = new Map<StoragePath, CheckedEntry>()
    let hasGaps = false
    let cursor = from
    try {
      for (let pages = 0; pages < pagesPerStep; pages++) {
        const page = await this.#context.reader.list(folder, { cursor, limit: maxPageSize }, signal)
        cursors.check(page.cursor)
        for (const entry of page.entries) {
          const path = (folder === '' ? entry.name : `${folder}/${entry.name}`) as StoragePath
          if (fits(path)) entries.set(path, entry)
          else hasGaps = true
        }
        cursor = page.cursor
        if (cursor === null) break
      }
      const isWhole = cursor === null && from === null
      return { folder, entries, rows: [], lines: '', cursor, cursors, isWhole, isGone: false, hasGaps, isQueued: false }
    } catch (error) {
      signal.throwIfAborted()
      // The root of a provider that is away, as a disk that is not mounted, is no reason to forget everything.
      if (isHidden(error) && folder === '') throw new AppError('UNAVAILABLE', undefined, { cause: error })
      const none = { folder, entries: new Map(), rows: [], lines: '', cursor: null, cursors, isQueued: false }
      if (isHidden(error)) return { ...none, isWhole: true, isGone: isGone(error), hasGaps: false }
      if (isOwnFault(error)) return { ...none, isWhole: false, isGone: false, hasGaps: true }
      throw error
    }
  }

  #makeRows(listed: Listed): void {
    if (!this.#options.isFirst) return
    listed.rows = Array.from(listed.entries, ([path, entry]) => toEntry(this.#context.catalogue, path, factsOf(entry)))
    listed.lines = listed.rows.map(copyLineOf).join('')
  }

  /** @param onFound called when the queue has the folders that were found, before these are stored */
  async #settle(listings: readonly Listed[], onFound: () => void) {
    const { db, catalogue } = this.#context
    const populated = await this.#populated(listings)
    const found = new Map<StoragePath, CheckedEntry>()
    const known = new Map<StoragePath, KnownEntry>()
    const removed: Removed[] = []
    for (const listed of listings) {
      const { folder, entries, cursor, cursors } = listed
      this.#hasGaps ||= listed.hasGaps
      for (const [path, entry] of entries) found.set(path, entry)
      if (cursor !== null && this.#open[0]?.folder !== folder) {
        const paths = this.#options.isFirst ? null : new Set(Array.from(entries.keys(), hashOf))
        this.#open.push({ folder, cursor, cursors, paths })
      }
      // A change may have put a file in the place of the folder since the folder was found.
      if (listed.isGone) removed.push(...(await findEntries(db, catalogue, [folder])).filter(isFolder))
      if (populated.has(folder)) removed.push(...(await this.#compare(listed, known)))
    }
    const gone = listings.flatMap(({ folder, isGone }) => (isGone ? folder : []))
    for (const folder of gone) found.delete(folder)
    const folders = foldersOf(found)
    // A file in place of a folder has nothing below it.
    const replaced = [...known.values()].filter(({ path, isFolder }) => isFolder && found.get(path)?.kind === 'file')
    for (const { path, isFolder } of [...removed, ...replaced]) if (isFolder) await removeBelow(this.#context, path)
    const changed = this.#options.isFirst
      ? listings.flatMap(({ rows }) => (gone.length === 0 ? rows : rows.filter(({ path }) => found.has(path))))
      : [...found].flatMap(([path, entry]) => {
          const [before, facts] = [known.get(path), factsOf(entry)]
          return before && isSame(before, facts) ? [] : toEntry(catalogue, path, facts)
        })
    const lines = gone.length === 0 ? listings.map(({ lines }) => lines) : changed.map(copyLineOf)
    const outside = this.#options.isOutside ? differences(known, removed, changed) : []
    if (!this.#options.isShallow) this.#queueFound(listings)
    const next = this.#next()
    onFound()
    const after = await changeCatalogue(db, this.#context, async trx => {
      const deleted = await deleteEntries(
        trx,
        catalogue,
        removed.map(({ path }) => path),
      )
      const added = this.#options.isFirst
        ? await addEntries(trx, catalogue, changed, lines.join(''))
        : await putEntries(trx, catalogue, changed)
      const isNew = (path: StoragePath) => !known.has(path)
      if (this.#options.isShallow) await addTrees(trx, catalogue, folders.filter(isNew), this.#options.isOutside)
      await addOutside(trx, catalogue, outside)
      const progress = await this.#options.store(trx, { next, hasGaps: this.#hasGaps })
      return { ...progress, added: added - deleted }
    })
    return { entries: found.size, isDone: next === null, catalogue: after }
  }

  /** Returns the folders of which the catalogue has entries to compare. */
  async #populated(listings: readonly Listed[]): Promise<ReadonlySet<StoragePath>> {
    if (this.#options.isFirst || listings.length === 0) return new Set()
    const { db, catalogue } = this.#context
    return new Set(
      await findPopulated(
        db,
        catalogue,
        listings.map(({ folder }) => folder),
      ),
    )
  }

  /** The path before which all folders are listed; null at the end. */
  #next(): string | null {
    const waiting = this.#options.isShallow ? null : this.#queue.next
    const candidates = [...this.#open.map(({ folder }) => folder), ...(waiting === null ? [] : [waiting])]
    return candidates.toSorted(compareNames)[0] ?? null
  }

  /** Adds what is known of the listed entries to `known`. @returns the known entries that the folder no longer has */
  async #compare({ folder, entries, isWhole }: Listed, known: Map<StoragePath, KnownEntry>): Promise<Removed[]> {
    const { db, catalogue } = this.#context
    const children = isWhole ? await listChildren(db, catalogue, folder, { after: null, limit: batchSize }) : null
    if (children && children.length < batchSize) {
      for (const child of children) if (entries.has(child.path)) known.set(child.path, child)
      return children.filter(({ path }) => !entries.has(path))
    }
    for (const entry of await findEntries(db, catalogue, [...entries.keys()])) known.set(entry.path, entry)
    if (children) await this.#removeUnlisted(folder, new Set(Array.from(entries.keys(), hashOf)))
    return []
  }

  /** Removes the known entries of a large folder that its listing did not contain. */
  async #removeUnlisted(folder: StoragePath, paths: ReadonlySet<number>): Promise<void> {
    const { db, catalogue } = this.#context
    for (let after: string | null = null; ; ) {
      const page: KnownEntry[] = await listChildren(db, catalogue, folder, { after, limit: batchSize })
      const gone = page.filter(({ path }) => !paths.has(hashOf(path)))
      if (this.#options.isOutside && gone.length > 0) {
        await changeCatalogue(db, this.#context, async trx => {
          await addOutside(trx, catalogue, differences(new Map(), gone, []))
          return {}
        })
      }
      await removeAll(this.#context, gone)
      if (page.length < batchSize) return
      after = page.at(-1)?.path ?? null
    }
  }
}

function foldersOf(entries: ReadonlyMap<StoragePath, CheckedEntry>): StoragePath[] {
  return [...entries].flatMap(([path, { kind }]) => (kind === 'directory' ? path : []))
}

/** 48 bits: of a million names, two have the same hash with a probability of one in five hundred. Then one may stay too long. */
function hashOf(path: string): number {
  return createHash('md5').update(path).digest().readUIntBE(0, 6)
}
