/** The changes that a local provider has noticed and the host has not asked for yet. */
import { type ChangedEntry, parentOf, type StoragePath } from '../../contract.ts'

/** Changes in one page, from the contract. */
const maxPage = 1000
/** The maximum number of paths that wait for the host. Beyond it, one change of a folder above all of them takes their place. */
const maxPending = 10_000

interface PendingChange {
  /** Anything below the path has changed, too. */
  isTree: boolean
  /** When the kernel last reported it, as of `performance.now()`. */
  noticedAt: number
}

const top = '' as StoragePath

export class PendingChanges {
  #waiting = new Map<StoragePath, PendingChange>()
  /** The folder that stands for all that has changed in it, as there was too much. */
  #around: StoragePath | null = null
  /** The content of the last page, in case the host asks for it again. */
  #sent = new Map<StoragePath, PendingChange>()

  get size(): number {
    return this.#waiting.size
  }

  /** @param isTree whether anything below the path has changed, too */
  add(path: StoragePath, isTree: boolean): void {
    const noticedAt = performance.now()
    const known = this.#folderAround(path) ?? this.#waiting.get(path)
    if (known) {
      known.isTree ||= isTree
      known.noticedAt = noticedAt
      return
    }
    this.#waiting.set(path, { isTree, noticedAt })
    if (this.#waiting.size <= maxPending) return
    this.#around = folderAround(this.#waiting)
    this.#waiting = new Map([[this.#around, { isTree: true, noticedAt }]])
  }

  /** Returns the changes of the next page. */
  take(): ChangedEntry[] {
    this.#sent = new Map()
    for (const [path, change] of this.#waiting) {
      if (this.#sent.size === maxPage) break
      this.#sent.set(path, change)
      this.#waiting.delete(path)
    }
    return Array.from(this.#sent, ([path, change]) => ({ path, ...change }))
  }

  /** Lets the changes of the last page wait again. */
  takeBack(): void {
    for (const [path, { isTree }] of this.#sent) this.add(path, isTree)
    this.#sent = new Map()
  }

  clear(): void {
    this.#waiting.clear()
    this.#sent = new Map()
  }

  #folderAround(path: StoragePath): PendingChange | undefined {
    const around = this.#around
    if (around === null || !path.startsWith(around === top ? '' : `${around}/`)) return undefined
    return this.#waiting.get(around)
  }
}

/** Returns the deepest folder that contains all of the changes. */
function folderAround(changes: ReadonlyMap<StoragePath, PendingChange>): StoragePath {
  let around: StoragePath | null = null
  for (const [path, { isTree }] of changes) {
    around ??= isTree ? path : parentOf(path)
    while (around !== top && path !== around && !path.startsWith(`${around}/`)) around = parentOf(around)
  }
  return around ?? top
}
