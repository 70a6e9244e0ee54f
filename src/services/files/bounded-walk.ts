/** Visits everything below a folder, level by level, within limits: to find entries by name, or to add up what is there. */
import { authorize, needs } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import { allDone } from '../../lib/limiter.ts'
import type { Storage } from '../../storage/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { parsePageSize } from '../input.ts'
import { isLeftOut } from './archive.ts'
import { type AskedToRead, entryAt, type FileEntry, type LocationInput } from './entry.ts'
import { children } from './tree.ts'

interface Walked {
  /** The number of visited entries. */
  walked: number
  /** The number of folders and files that were left out because of an error of their own. */
  unreadable: number
  /** The reason why the walk ended before it was complete: `visit` or a limit. */
  cut: 'VISITOR' | 'ENTRIES' | 'TIME' | null
}

/** The maximum number of entries that one walk visits. It also bounds the memory. */
const maxEntries = 20_000
/** Milliseconds. */
const maxTime = 10_000
/** The number of folders that one walk lists at the same time. */
const foldersAtOnce = 8

/**
 * @param visit returns whether the walk goes on
 * @throws as `Files.list` for the folder itself; UNAVAILABLE and others if the back end fails
 */
async function walkBounded(
  top: ReadLocation,
  signal: AbortSignal,
  visit: (location: ReadLocation, entry: CheckedEntry) => boolean,
): Promise<Walked> {
  const walk = new BoundedWalk(signal, visit)
  for (let level = [top]; level.length > 0; ) level = await walk.through(level)
  return walk.result()
}

class BoundedWalk {
  readonly #visit: (location: ReadLocation, entry: CheckedEntry) => boolean
  readonly #signal: AbortSignal
  readonly #timeout = AbortSignal.timeout(maxTime)
  #walked = 0
  #unreadable = 0
  #cut: Walked['cut'] = null
  /** True after an error that ends the walk. */
  #hasFailed = false

  constructor(signal: AbortSignal, visit: (location: ReadLocation, entry: CheckedEntry) => boolean) {
    this.#visit = visit
    this.#signal = AbortSignal.any([signal, this.#timeout])
  }

  result(): Walked {
    return { walked: this.#walked, unreadable: this.#unreadable, cut: this.#cut }
  }

  /** Returns the folders in these folders; none after the last level, and when the walk is cut. */
  async through(level: readonly ReadLocation[]): Promise<ReadLocation[]> {
    const next: ReadLocation[] = []
    const folders = level.values()
    const work = async () => {
      for (const folder of folders) {
        if (this.#cut || this.#hasFailed) return
        await this.#list(folder, next)
      }
    }
    await allDone(Array.from({ length: foldersAtOnce }, work))
    return this.#cut ? [] : next
  }

  async #list(folder: ReadLocation, next: ReadLocation[]): Promise<void> {
    try {
      for await (const entry of children(folder, this.#signal)) {
        if (this.#cut || this.#hasFailed) return
        const location = this.#below(folder, entry.name)
        if (!location) continue
        if (this.#walked === maxEntries) return this.#end('ENTRIES')
        this.#walked += 1
        if (!this.#visit(location, entry)) return this.#end('VISITOR')
        if (entry.kind === 'directory') next.push(location)
      }
    } catch (error) {
      if (this.#timeout.aborted) return this.#end('TIME')
      const isTop = folder.path === folder.grant.path
      if (!isTop && this.#isTolerated(error)) return
      this.#hasFailed = true
      throw error
    }
  }

  /** Returns null if the path is too long. */
  #below(folder: ReadLocation, name: string): ReadLocation | null {
    try {
      return folder.child(name)
    } catch (error) {
      if (this.#isTolerated(error)) return null
      throw error
    }
  }

  /** Returns whether an error concerns one entry only, and counts it. */
  #isTolerated(error: unknown): boolean {
    if (!isLeftOut(error)) return false
    this.#unreadable += 1
    return true
  }

  #end(cut: NonNullable<Walked['cut']>): void {
    this.#cut ??= cut
  }
}

export interface WalkSearch extends LocationInput {
  /** The text that names contain, in upper or lower case. */
  name: string
  /** The maximum number of results. */
  first: number
}

export interface FoundEntries extends Omit<Walked, 'cut'> {
  /** Sorted by path. */
  entries: FileEntry[]
  /** The limit that ended the search before it was complete. */
  cut: 'RESULTS' | 'ENTRIES' | 'TIME' | null
}

/** The maximum number of results. */
const maxResults = 1000

/**
 * Searches below a folder, level by level, until a limit is reached.
 * @throws as `Files.list` for the folder itself; UNAVAILABLE and others if the back end fails
 */
export async function search(
  storage: Storage,
  viewer: Viewer | null,
  input: WalkSearch,
  requestSignal: AbortSignal,
): Promise<FoundEntries> {
  const [granted] = authorize(viewer, needs.read, input)
  const first = parsePageSize(input.first, maxResults)
  const wanted = fold(input.name)
  if (wanted === '') throw new AppError('INVALID_INPUT', 'Give the text that the names contain.')
  const top = await storage.readAt(granted)
  return storage.activeGrants.run([granted], requestSignal, async signal => {
    const found: FileEntry[] = []
    const walked = await walkBounded(top, signal, (location, entry) => {
      if (!fold(entry.name).includes(wanted)) return true
      if (found.length === first) return false
      found.push(entryAt(location, entry))
      return true
    })
    const entries = found.toSorted((a, b) => (a.path < b.path ? -1 : 1))
    return { ...walked, entries, cut: walked.cut === 'VISITOR' ? 'RESULTS' : walked.cut }
  })
}

/** Makes names comparable. Systems store accents in different forms. */
function fold(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

export interface FolderUsage {
  files: number
  folders: number
  /** The bytes of all files whose size is known. */
  bytes: number
  /** False if the folder has more than was counted: a limit was reached, or something could not be read. */
  isComplete: boolean
}

/** Counts everything below a folder until a limit is reached. @throws as `search` */
export async function usageOf(
  storage: Storage,
  viewer: Viewer | null,
  input: AskedToRead,
  requestSignal: AbortSignal,
): Promise<FolderUsage> {
  const [granted] = authorize(viewer, needs.read, input)
  const top = await storage.readAt(granted)
  return storage.activeGrants.run([granted], requestSignal, async signal => {
    const sum = { files: 0, folders: 0, bytes: 0 }
    const { cut, unreadable } = await walkBounded(top, signal, (_location, entry) => {
      if (entry.kind === 'directory') sum.folders += 1
      else {
        sum.files += 1
        sum.bytes += entry.size ?? 0
      }
      return true
    })
    return { ...sum, isComplete: cut === null && unreadable === 0 }
  })
}
