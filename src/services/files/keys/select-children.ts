import type { ReadLocation } from '../../../storage/read-location.ts'
import type { CheckedEntry } from '../../../storage/validate-entry.ts'
import { compareNames } from '../name-order.ts'
import { children } from '../tree.ts'

/** A child of a folder with its part of the key: its name, and for a folder a "/" behind it. */
export interface KeyedChild {
  part: string
  entry: CheckedEntry
}

export interface Selection {
  /** The first children in the order of their parts. */
  first: readonly KeyedChild[]
  /** Whether there are more children after these that pass. */
  hasMore: boolean
  /** Whether the folder has no entries at all. */
  isEmpty: boolean
}

/**
 * Returns the first `limit` children that pass, in the order of their parts. Back ends list in any order, so it reads the whole
 * folder, but keeps no more than twice `limit` children.
 */
export async function selectChildren(
  folder: ReadLocation,
  { passes, limit }: { passes: (part: string) => boolean; limit: number },
  signal: AbortSignal,
): Promise<Selection> {
  let kept: KeyedChild[] = []
  let count = 0
  let isEmpty = true
  const prune = () => {
    kept = kept.toSorted((a, b) => compareNames(a.part, b.part)).slice(0, limit)
  }
  for await (const entry of children(folder, signal)) {
    isEmpty = false
    const part = entry.kind === 'directory' ? `${entry.name}/` : entry.name
    if (!passes(part)) continue
    kept.push({ part, entry })
    count += 1
    if (kept.length >= 2 * limit) prune()
  }
  prune()
  return { first: kept, hasMore: count > limit, isEmpty }
}
