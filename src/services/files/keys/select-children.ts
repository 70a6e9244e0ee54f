import type { ReadLocation } from '../../../storage/read-location.ts'
import { compareNames } from '../name-order.ts'
import { children } from '../tree.ts'
import { type KeyedChild, keyed } from './keyed-child.ts'
import { type ChildrenFrom, orderedChildren } from './ordered-children.ts'

export interface Selection {
  /** The first children in the order of their parts. */
  first: readonly KeyedChild[]
  /** Whether there are more children after these that pass. */
  hasMore: boolean
  /** Whether the folder has no entries at all. Only a listing from the beginning finds that out. */
  isEmpty: boolean
}

interface Selecting extends ChildrenFrom {
  passes: (part: string) => boolean
  limit: number
}

/** Returns the first `limit` children that pass, in the order of their parts. */
export async function selectChildren(
  folder: ReadLocation,
  selecting: Selecting,
  signal: AbortSignal,
): Promise<Selection> {
  const { listOrder } = folder.traits
  return listOrder ? takeFirst(folder, listOrder, selecting, signal) : sortAll(folder, selecting, signal)
}

/** Reads no further than necessary. */
async function takeFirst(
  folder: ReadLocation,
  order: 'names' | 'keys',
  { passes, limit, ...from }: Selecting,
  signal: AbortSignal,
): Promise<Selection> {
  const first: KeyedChild[] = []
  let isEmpty = from.after === '' && from.prefix === ''
  for await (const child of orderedChildren(folder, order, from, signal)) {
    isEmpty = false
    if (!passes(child.part)) continue
    if (first.length === limit) return { first, hasMore: true, isEmpty }
    first.push(child)
  }
  return { first, hasMore: false, isEmpty }
}

/** Reads the whole folder, because the back end lists in any order, but keeps no more than twice `limit` children. */
async function sortAll(folder: ReadLocation, { passes, limit }: Selecting, signal: AbortSignal): Promise<Selection> {
  let kept: KeyedChild[] = []
  let count = 0
  let isEmpty = true
  const prune = () => {
    kept = kept.toSorted((a, b) => compareNames(a.part, b.part)).slice(0, limit)
  }
  for await (const entry of children(folder, signal)) {
    isEmpty = false
    const child = keyed(entry)
    if (!passes(child.part)) continue
    kept.push(child)
    count += 1
    if (kept.length >= 2 * limit) prune()
  }
  prune()
  return { first: kept, hasMore: count > limit, isEmpty }
}
