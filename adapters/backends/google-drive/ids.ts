import { LruMap } from '../../bases/limits.ts'
import type { DriveFiles } from './files.ts'
import type { DriveFile } from './names.ts'
import { byRank, isFolder, parseTwinName, pick, plainName, storedNames } from './names.ts'

/** The maximum number of folder ids in the cache. */
const maxKnown = 10_000

interface KnownFolder {
  id: string
  /** Milliseconds of `performance.now()`. */
  seen: number
}

/** `trusted` uses cached folder ids that are fresh. `verified` looks up every folder of the path; use it before changes. */
export type LookupMode = 'trusted' | 'verified'

export interface LocatedFile {
  file: DriveFile
  /** The id of the parent folder. */
  parent: string
}

/**
 * Finds the file that a path names, with a cache of folder ids. A cached folder is trusted for `trust` milliseconds, so a
 * change made elsewhere takes effect within that time. Older ones are looked up again, all levels of a path at once. The last
 * name of a path is always looked up.
 */
export class PathIds {
  readonly #files: DriveFiles
  readonly #trust: number
  readonly #known = new LruMap<string, KnownFolder>(maxKnown)
  /** The number of `forget` calls. A lookup that began before the last one is not cached. */
  #forgotten = 0

  constructor(files: DriveFiles, trust: number) {
    this.#files = files
    this.#trust = trust
  }

  /** Returns the file at a path other than the root; undefined for a missing one. */
  async find(segments: readonly string[], signal: AbortSignal, mode: LookupMode): Promise<LocatedFile | undefined> {
    const { file, parent } = await this.locate(segments, signal, mode)
    return file && parent !== undefined ? { file, parent } : undefined
  }

  /** Like `find`. Where only the last name is missing, it still returns the id of the parent folder. */
  async locate(segments: readonly string[], signal: AbortSignal, mode: LookupMode): Promise<Partial<LocatedFile>> {
    const root = await this.#files.root(signal)
    const asOf = this.#forgotten
    const guesses = this.#guess(segments, root.id)
    const trusted = segments.map((_, depth) => mode === 'trusted' && this.#isTrusted(segments, depth))
    // Look up all levels at once, assuming that the cached parents are right. The loop below checks each one.
    const lookups = segments.map((name, depth) => {
      const parent = guesses[depth]
      if (parent === undefined || trusted[depth]) return undefined
      const result = this.lookUp(parent, name, signal)
      result.catch(() => {})
      return { parent, result }
    })
    let parent = root.id
    for (const [depth, name] of segments.entries()) {
      const isLast = depth === segments.length - 1
      const known = this.#known.get(keyOf(segments, depth))
      if (trusted[depth] && known && guesses[depth] === parent) {
        parent = known.id
        continue
      }
      const early = lookups[depth]
      const file = await (early?.parent === parent ? early.result : this.lookUp(parent, name, signal))
      if (!file || (!isLast && !isFolder(file))) {
        this.#drop(segments.slice(0, depth + 1))
        // A trusted folder may be stale.
        if (trusted.slice(0, depth).some(Boolean)) return await this.locate(segments, signal, 'verified')
        return isLast ? { parent } : {}
      }
      if (isFolder(file) && asOf === this.#forgotten) this.remember(segments.slice(0, depth + 1), file.id)
      if (isLast) return { file, parent }
      parent = file.id
    }
    return {}
  }

  /** Returns the id of a folder, or of the root, if all folders of its path are trusted. */
  async trustedFolder(segments: readonly string[], signal: AbortSignal): Promise<string | undefined> {
    if (segments.length === 0) return (await this.#files.root(signal)).id
    const isSeen = segments.every((_, depth) => this.#isFresh(segments, depth))
    return isSeen ? this.#known.get(segments.join('/'))?.id : undefined
  }

  async lookUp(parent: string, name: string, signal: AbortSignal): Promise<DriveFile | undefined> {
    return pick(await this.candidates(parent, name, signal), name)
  }

  /** Returns all files with this plain name, sorted by rank. */
  async twins(parent: string, name: string, signal: AbortSignal): Promise<DriveFile[]> {
    const found = await this.#files.named(parent, storedNames(name), signal)
    return found.filter(file => plainName(file) === name).sort(byRank)
  }

  /** Returns the files that `name` may mean, as a plain name or as the name of a twin. */
  candidates(parent: string, name: string, signal: AbortSignal): Promise<DriveFile[]> {
    const twin = parseTwinName(name)
    const plain = twin ? [name, twin.plain] : [name]
    return this.#files.named(parent, plain.flatMap(storedNames), signal)
  }

  remember(segments: readonly string[], id: string): void {
    const key = segments.join('/')
    const known = this.#known.get(key)
    if (known && known.id !== id) this.#drop(segments)
    this.#known.set(key, { id, seen: performance.now() })
  }

  /** Call this after moving or deleting a folder: drops it and everything below it. */
  forget(segments: readonly string[]): void {
    this.#forgotten += 1
    this.#drop(segments)
  }

  #drop(segments: readonly string[]): void {
    const key = segments.join('/')
    for (const known of this.#known.keys()) {
      if (known === key || known.startsWith(`${key}/`) || key === '') this.#known.delete(known)
    }
  }

  /** Returns the cached id of each segment's parent folder. */
  #guess(segments: readonly string[], root: string): (string | undefined)[] {
    let parent: string | undefined = root
    return segments.map((_, depth) => {
      if (depth > 0) parent = parent && this.#known.get(keyOf(segments, depth - 1))?.id
      return parent
    })
  }

  #isTrusted(segments: readonly string[], depth: number): boolean {
    return depth < segments.length - 1 && this.#isFresh(segments, depth)
  }

  #isFresh(segments: readonly string[], depth: number): boolean {
    const known = this.#known.get(keyOf(segments, depth))
    return known !== undefined && performance.now() - known.seen < this.#trust
  }
}

function keyOf(segments: readonly string[], depth: number): string {
  return segments.slice(0, depth + 1).join('/')
}
