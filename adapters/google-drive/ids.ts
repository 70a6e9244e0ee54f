import type { DriveFile } from './api.ts'
import type { DriveFiles } from './files.ts'
import { byRank, isFolder, parseTwinName, pick, plainName, storedNames } from './names.ts'

/** The maximum number of folder ids in the cache. */
const maxKnown = 10_000

interface Known {
  id: string
  /** Milliseconds of `performance.now()`. */
  seen: number
}

/** Whether folders that were seen a moment ago are believed to be where they were. */
export type Mode = 'trusted' | 'verified'

export interface Found {
  file: DriveFile
  parent: string
}

/**
 * Finds what a path means. Ids of folders are remembered, and each is looked up again, all levels of a path at once,
 * unless that was done within `trust` milliseconds: what is moved, renamed or deleted behind our back is believed for
 * that long at most. The last name of a path is always looked up.
 */
export class PathIds {
  readonly #files: DriveFiles
  readonly #trust: number
  readonly #known = new Map<string, Known>()
  /** Rises with each `forget`: an answer from before it is not remembered after it. */
  #forgotten = 0

  constructor(files: DriveFiles, trust: number) {
    this.#files = files
    this.#trust = trust
  }

  /**
   * All but the root. `verified` trusts nothing, and is for whatever changes something.
   */
  async find(segments: readonly string[], signal: AbortSignal, mode: Mode): Promise<Found | undefined> {
    const { file, parent } = await this.locate(segments, signal, mode)
    return file && parent !== undefined ? { file, parent } : undefined
  }

  /** Like `find`; where only the last name is not there, with the folder that it would be in. */
  async locate(segments: readonly string[], signal: AbortSignal, mode: Mode): Promise<Partial<Found>> {
    const root = await this.#files.root(signal)
    const asOf = this.#forgotten
    const guesses = this.#guess(segments, root.id)
    const trusted = segments.map((_, depth) => mode === 'trusted' && this.#isTrusted(segments, depth))
    // Under a remembered folder the next name can be asked for before the folder is known to be right.
    const asked = segments.map((name, depth) => {
      const parent = guesses[depth]
      if (parent === undefined || trusted[depth]) return undefined
      const answer = this.lookUp(parent, name, signal)
      answer.catch(() => {})
      return { parent, answer }
    })
    let parent = root.id
    for (const [depth, name] of segments.entries()) {
      const isLast = depth === segments.length - 1
      const known = this.#known.get(keyOf(segments, depth))
      if (trusted[depth] && known && guesses[depth] === parent) {
        parent = known.id
        continue
      }
      const early = asked[depth]
      const file = await (early?.parent === parent ? early.answer : this.lookUp(parent, name, signal))
      if (!file || (!isLast && !isFolder(file))) {
        this.#drop(segments.slice(0, depth + 1))
        // The mistake may be in what was trusted.
        if (trusted.slice(0, depth).some(Boolean)) return await this.locate(segments, signal, 'verified')
        return isLast ? { parent } : {}
      }
      if (isFolder(file) && asOf === this.#forgotten) this.remember(segments.slice(0, depth + 1), file.id)
      if (isLast) return { file, parent }
      parent = file.id
    }
    return {}
  }

  /** The id of a folder, the root too, that was seen a moment ago. */
  async seenFolder(segments: readonly string[], signal: AbortSignal): Promise<string | undefined> {
    if (segments.length === 0) return (await this.#files.root(signal)).id
    const isSeen = segments.every((_, depth) => this.#isSeen(segments, depth))
    return isSeen ? this.#known.get(segments.join('/'))?.id : undefined
  }

  async lookUp(parent: string, name: string, signal: AbortSignal): Promise<DriveFile | undefined> {
    return pick(await this.candidates(parent, name, signal), name)
  }

  /** Those that have the name as their plain one, best first. */
  async twins(parent: string, name: string, signal: AbortSignal): Promise<DriveFile[]> {
    const found = await this.#files.named(parent, storedNames(name), signal)
    return found.filter(file => plainName(file) === name).sort(byRank)
  }

  candidates(parent: string, name: string, signal: AbortSignal): Promise<DriveFile[]> {
    const twin = parseTwinName(name)
    const plain = twin ? [name, twin.plain] : [name]
    return this.#files.named(parent, plain.flatMap(storedNames), signal)
  }

  remember(segments: readonly string[], id: string): void {
    const key = segments.join('/')
    const known = this.#known.get(key)
    if (known && known.id !== id) this.#drop(segments)
    // The one that was used longest ago goes first.
    this.#known.delete(key)
    this.#known.set(key, { id, seen: performance.now() })
    if (this.#known.size <= maxKnown) return
    const [oldest] = this.#known.keys()
    if (oldest !== undefined) this.#known.delete(oldest)
  }

  /** A folder that this server has moved or deleted, with all beneath. */
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

  /** The ids of the folders that the segments lie in, as far as they are remembered. */
  #guess(segments: readonly string[], root: string): (string | undefined)[] {
    let parent: string | undefined = root
    return segments.map((_, depth) => {
      if (depth > 0) parent = parent && this.#known.get(keyOf(segments, depth - 1))?.id
      return parent
    })
  }

  #isTrusted(segments: readonly string[], depth: number): boolean {
    return depth < segments.length - 1 && this.#isSeen(segments, depth)
  }

  #isSeen(segments: readonly string[], depth: number): boolean {
    const known = this.#known.get(keyOf(segments, depth))
    return known !== undefined && performance.now() - known.seen < this.#trust
  }
}

function keyOf(segments: readonly string[], depth: number): string {
  return segments.slice(0, depth + 1).join('/')
}
