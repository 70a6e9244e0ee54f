import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull } from '../files/conflict.ts'
import { children } from '../files/tree.ts'

/**
 * The maximum number of entries of one folder to keep in memory, at about 300 bytes each. The entries of larger folders
 * are looked up one by one.
 */
const maxKept = 50_000

/** The names that exist in a folder at the target before a job adds to it. */
export class TargetNames {
  readonly #folder: WriteLocation
  readonly #signal: AbortSignal
  /** Null if there are too many to keep. */
  readonly #entries: Map<string, CheckedEntry> | null

  private constructor(folder: WriteLocation, signal: AbortSignal, entries: Map<string, CheckedEntry> | null) {
    this.#folder = folder
    this.#signal = signal
    this.#entries = entries
  }

  static async load(
    folder: WriteLocation,
    { isEmpty, signal }: { isEmpty: boolean; signal: AbortSignal },
  ): Promise<TargetNames> {
    const entries = new Map<string, CheckedEntry>()
    if (isEmpty) return new TargetNames(folder, signal, entries)
    for await (const entry of children(folder, signal)) {
      if (entries.size === maxKept) return new TargetNames(folder, signal, null)
      entries.set(entry.name, entry)
    }
    return new TargetNames(folder, signal, entries)
  }

  /** Returns the entry with this name, or null. It is no longer one of the `rest`. */
  async take(name: string): Promise<CheckedEntry | null> {
    if (!this.#entries) return statOrNull(this.#folder.child(name), this.#signal)
    const entry = this.#entries.get(name) ?? null
    this.#entries.delete(name)
    return entry
  }

  /** Returns the entries that were not taken. */
  rest(): Iterable<CheckedEntry> {
    return this.#entries?.values() ?? []
  }
}
