import type { StoragePath } from '../../auth/path.ts'
import { compareNames } from '../files/list.ts'

/** The number of folders that are read from the catalogue at once, and about the number that is kept in memory. */
const size = 1000

/**
 * The folders that a walk still has to list, in the order of their paths. A folder is in the catalogue before it is in here, so only the
 * next ones are in memory, and the walk continues from any path.
 */
export class FolderQueue {
  readonly #read: (from: string, limit: number) => Promise<StoragePath[]>
  /** Sorted, the next one last. */
  #waiting: StoragePath[] = []
  /** Further folders are from this path on; null if there are none. */
  #rest: string | null

  /**
   * @param from the path from which on folders are listed
   * @param read returns known folders, from a path on and in order
   */
  constructor(from: string, read: (from: string, limit: number) => Promise<StoragePath[]>) {
    this.#rest = from
    this.#read = read
  }

  /** Reads the next folders into memory if there are none. Call it when the catalogue has all folders that were added. */
  async load(): Promise<void> {
    if (this.#waiting.length > 0 || this.#rest === null) return
    const found = await this.#read(this.#rest, size)
    this.#rest = found.length < size ? null : after(found.at(-1) ?? '')
    this.#waiting = found.toReversed()
  }

  /** Takes the next folder that is in memory. */
  take(): StoragePath | null {
    return this.#waiting.pop() ?? null
  }

  /** Adds folders that were found in the folders that were taken, or that were taken and not listed. */
  add(found: readonly StoragePath[]): void {
    const rest = this.#rest
    const near = rest === null ? found : found.filter(path => compareNames(path, rest) < 0)
    if (near.length === 0) return
    this.#waiting = [...new Set([...this.#waiting, ...near])].sort((a, b) => compareNames(b, a))
    if (this.#waiting.length <= 2 * size) return
    const far = this.#waiting.length - size
    this.#rest = this.#waiting[far - 1] ?? null
    this.#waiting = this.#waiting.slice(far)
  }

  /** The path from which on folders are still to be listed; null at the end. */
  get next(): string | null {
    return this.#waiting.at(-1) ?? this.#rest
  }
}

/** Returns the next possible path, as no path contains a NUL. */
function after(path: string): string {
  return `${path}\u0001`
}
