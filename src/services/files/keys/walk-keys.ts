/** Walks a tree in the order of its keys: the paths of files, and of empty folders with a "/" behind them. */
import { maxPathBytes } from '../../../auth/path.ts'
import type { ReadLocation } from '../../../storage/read-location.ts'
import type { CheckedEntry } from '../../../storage/validate-entry.ts'
import { compareNames } from '../name-order.ts'
import { children, requireDepth } from '../tree.ts'
import { isGone } from './gone.ts'
import { type KeyedChild, keyed } from './keyed-child.ts'
import { type ChildrenFrom, orderedChildren } from './ordered-children.ts'

export type KeyItem =
  | { kind: 'file'; key: string; entry: CheckedEntry; location: ReadLocation }
  | { kind: 'empty folder'; key: string }
  /** The common prefix of the keys below a folder. */
  | { kind: 'group'; key: string }

/** Which keys a walk yields. */
export interface KeyRange {
  /** All keys begin with this text. */
  prefix: string
  /** All keys come after this one. */
  after: string
  /** Whether the keys below a folder count as one: their common prefix, which ends in "/". */
  groups: boolean
  /** The number of children of a folder to keep at once, 1 or more. */
  window: number
}

/** The number of folders that are listed before the walk reaches them. */
const ahead = 8

/**
 * @param base the key of the folder: empty, or ending in "/"
 * @throws as `Files.list`, except for a folder that is missing
 */
export async function* walkKeys(
  folder: ReadLocation,
  base: string,
  range: KeyRange,
  signal: AbortSignal,
  depth = 0,
  listed: Promise<Selection> = select(folder, base, range, signal),
): AsyncGenerator<KeyItem, void, undefined> {
  requireDepth(depth)
  let selection = await listed
  if (selection.isEmpty && base !== '' && base.startsWith(range.prefix) && compareNames(base, range.after) > 0) {
    yield { kind: 'empty folder', key: base }
    return
  }
  for (;;) {
    yield* walkChildren(folder, base, selection.first, range, signal, depth)
    const last = selection.first.at(-1)
    if (!selection.hasMore || !last) return
    selection = await select(folder, base, range, signal, last.part)
  }
}

async function* walkChildren(
  folder: ReadLocation,
  base: string,
  children: readonly KeyedChild[],
  range: KeyRange,
  signal: AbortSignal,
  depth: number,
): AsyncGenerator<KeyItem, void, undefined> {
  const listings = new Map<number, Promise<Selection>>()
  const begin = (index: number) => {
    const child = children[index]
    if (!child || range.groups || child.entry.kind !== 'directory' || listings.has(index)) return
    const listing = select(folder.child(child.entry.name), base + child.part, range, signal)
    // The walk may end before it gets here.
    listing.catch(() => {})
    listings.set(index, listing)
  }
  for (const [index, { part, entry }] of children.entries()) {
    for (let next = index; next <= index + ahead; next++) begin(next)
    const key = base + part
    const location = folder.child(entry.name)
    if (entry.kind === 'file') yield { kind: 'file', key, entry, location }
    else if (range.groups && key.startsWith(range.prefix)) yield* groupOf(location, key, range, signal, depth)
    else yield* walkKeys(location, key, range, signal, depth + 1, listings.get(index))
    listings.delete(index)
  }
}

/** Yields the common prefix of a folder unless all keys below it come before the range. */
async function* groupOf(
  location: ReadLocation,
  key: string,
  range: KeyRange,
  signal: AbortSignal,
  depth: number,
): AsyncGenerator<KeyItem, void, undefined> {
  const isBegun = range.after.startsWith(key)
  if (!isBegun) {
    yield { kind: 'group', key }
    return
  }
  // A listing that continues after a common prefix has returned all of its keys.
  if (range.after === key) return
  const inside = { ...range, groups: false, prefix: key, window: 1 }
  for await (const _item of walkKeys(location, key, inside, signal, depth + 1)) {
    yield { kind: 'group', key }
    return
  }
}

/** @param last selects only children after the one with this part */
async function select(
  folder: ReadLocation,
  base: string,
  { prefix, after, window }: KeyRange,
  signal: AbortSignal,
  last = '',
): Promise<Selection> {
  const inside = after.startsWith(base) ? after.slice(base.length) : ''
  const from = { after: last === '' ? inside : last, prefix: prefix.slice(base.length) }
  const passes = (part: string) => {
    const [key, isFolder] = [base + part, part.endsWith('/')]
    const isInPrefix = key.startsWith(prefix) || (isFolder && prefix.startsWith(key))
    const isAfter = compareNames(key, after) > 0 || (isFolder && after.startsWith(key))
    return isInPrefix && isAfter && compareNames(part, last) > 0 && Buffer.byteLength(key) < maxPathBytes
  }
  try {
    return await selectChildren(folder, { passes, limit: window, ...from }, signal)
  } catch (error) {
    if (isGone(error)) return { first: [], hasMore: false, isEmpty: false }
    throw error
  }
}

interface Selection {
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
async function selectChildren(folder: ReadLocation, selecting: Selecting, signal: AbortSignal): Promise<Selection> {
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
