import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { isMissing, statOrNull } from '../files/conflict.ts'
import { children } from '../files/tree.ts'

/** Entries of one folder that are kept in memory, at about 300 bytes each. Those of larger folders are looked up one by one. */
const maxKept = 10_000

/** The names that exist in a folder at one moment, such as at the target before a job adds to it. */
export class FolderNames {
  readonly #folder: ReadLocation
  readonly #signal: AbortSignal
  /** Null if there are too many to keep. */
  readonly #entries: ReadonlyMap<string, CheckedEntry> | null

  private constructor(folder: ReadLocation, signal: AbortSignal, entries: Map<string, CheckedEntry> | null) {
    this.#folder = folder
    this.#signal = signal
    this.#entries = entries
  }

  /** A missing folder has no names, unless it `isRequired`. @throws NOT_FOUND if so */
  static async load(
    folder: ReadLocation,
    { isEmpty, isRequired = false, signal }: { isEmpty: boolean; isRequired?: boolean; signal: AbortSignal },
  ): Promise<FolderNames> {
    const entries = new Map<string, CheckedEntry>()
    if (isEmpty) return new FolderNames(folder, signal, entries)
    try {
      for await (const entry of children(folder, signal)) {
        if (entries.size === maxKept) return new FolderNames(folder, signal, null)
        entries.set(entry.name, entry)
      }
    } catch (error) {
      if (isRequired || !isMissing(error)) throw error
    }
    return new FolderNames(folder, signal, entries)
  }

  /** Returns whether the name is known to be free, without a lookup. */
  isFree(name: string): boolean {
    return this.#entries?.has(name) === false
  }

  /** Returns the entry with this name, or null. */
  async find(name: string): Promise<CheckedEntry | null> {
    return this.#entries ? (this.#entries.get(name) ?? null) : statOrNull(this.#folder.child(name), this.#signal)
  }
}
