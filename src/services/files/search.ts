/** Finds files and folders by name. */
import { authorize, needs } from '../../auth/needs.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import { parsePageSize } from '../input.ts'
import { allDone } from '../jobs/limiter.ts'
import { isLeftOut } from './archive.ts'
import { entryAt, type FileEntry, type LocationInput } from './entry.ts'
import { children } from './tree.ts'

export interface SearchInput extends LocationInput {
  /** The text that names contain, in upper or lower case. */
  name: string
  /** The maximum number of results. */
  first: number
}

export interface FoundEntries {
  /** Sorted by path. */
  entries: FileEntry[]
  /** The number of entries whose names were compared. */
  walked: number
  /** The number of folders and files that were left out because of an error of their own. */
  unreadable: number
  /** The limit that ended the search before it was complete. */
  cut: 'RESULTS' | 'ENTRIES' | 'TIME' | null
}

/** The maximum number of results. */
const maxResults = 1000
/** The maximum number of entries that one search compares. It also bounds the memory. */
const maxEntries = 20_000
/** Milliseconds. */
const maxTime = 10_000
/** The number of folders that one search lists at the same time. */
const foldersAtOnce = 8

/**
 * Searches below a folder, level by level, until a limit is reached.
 * @throws as `Files.list` for the folder itself; UNAVAILABLE and others if the back end fails
 */
export async function search(
  storage: Storage,
  viewer: Viewer | null,
  input: SearchInput,
  requestSignal: AbortSignal,
): Promise<FoundEntries> {
  const [granted] = authorize(viewer, needs.read, input)
  const first = parsePageSize(input.first, maxResults)
  const wanted = fold(input.name)
  if (wanted === '') throw new AppError('INVALID_INPUT', 'Give the text that the names contain.')
  const top = await storage.readAt(granted)
  return storage.activeGrants.run([granted], requestSignal, async signal => {
    const walk = new SearchWalk(wanted, first, signal)
    for (let level = [top]; level.length > 0; ) level = await walk.through(level)
    return walk.result()
  })
}

class SearchWalk {
  readonly #wanted: string
  readonly #first: number
  readonly #signal: AbortSignal
  readonly #timeout = AbortSignal.timeout(maxTime)
  readonly #entries: FileEntry[] = []
  #walked = 0
  #unreadable = 0
  #cut: FoundEntries['cut'] = null
  /** True after an error that ends the search. */
  #hasFailed = false

  constructor(wanted: string, first: number, signal: AbortSignal) {
    this.#wanted = wanted
    this.#first = first
    this.#signal = AbortSignal.any([signal, this.#timeout])
  }

  result(): FoundEntries {
    const entries = this.#entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))
    return { entries, walked: this.#walked, unreadable: this.#unreadable, cut: this.#cut }
  }

  /** Returns the folders in these folders; none after the last level, and when a limit is reached. */
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
        if (fold(entry.name).includes(this.#wanted)) {
          if (this.#entries.length === this.#first) return this.#end('RESULTS')
          this.#entries.push(entryAt(location, entry))
        }
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

  #end(limit: NonNullable<FoundEntries['cut']>): void {
    this.#cut ??= limit
  }
}

/** Makes names comparable. Systems store accents in different forms. */
function fold(name: string): string {
  return name.normalize('NFC').toLowerCase()
}
