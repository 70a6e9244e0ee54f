/** Lists the files of a provider as keys, such as `a/b.txt`, in one order for all back ends. */
import { maxPathBytes, parsePath, root, type StoragePath } from '../../auth/path.ts'
import { type BaseGrants, type Grant, grantBasePaths } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { entryAt, type FileEntry } from './entry.ts'
import { type ChildrenFrom, compareNames, isMissingChild, type KeyedChild, keyed, orderedChildren } from './list.ts'
import { children, requireDepth } from './tree.ts'

export interface KeyQuery {
  providerId: string
  prefix: string
  /** All keys come after this one; empty for the first page. */
  after: string
  /** True to list each folder as one common prefix instead of its keys. */
  groups: boolean
  /** 0 to 1,000. */
  limit: number
}

export interface KeyPage {
  /** The files, and the folders that contain nothing, whose keys end in "/". An empty folder has no entry. */
  objects: { key: string; entry: FileEntry | null }[]
  /** The common prefixes of the keys below a folder. */
  groups: string[]
  /** The last key or common prefix if more follow; otherwise null. */
  next: string | null
}

/**
 * Returns one page of the keys that the viewer may read. Above the base paths of the viewer, there is only the way down
 * to them, whether they exist or not.
 * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED
 */
export function listKeys(
  storage: Storage,
  viewer: Viewer | null,
  query: KeyQuery,
  requestSignal: AbortSignal,
): Promise<KeyPage> {
  const granted = grantBasePaths(viewer, query.providerId)
  return storage.activeGrants.run(granted, requestSignal, async signal => {
    // Ends listings that the walk has begun in advance.
    const walk = new AbortController()
    const items = keysOf(storage, granted, query, AbortSignal.any([signal, walk.signal]))
    try {
      return await takePage(items, query.limit)
    } finally {
      walk.abort()
    }
  })
}

async function takePage(items: AsyncIterable<KeyItem>, limit: number): Promise<KeyPage> {
  const page: KeyPage = { objects: [], groups: [], next: null }
  if (limit === 0) return page
  let last = ''
  let count = 0
  for await (const item of items) {
    if (count === limit) return { ...page, next: last }
    if (item.kind === 'file') page.objects.push({ key: item.key, entry: entryAt(item.location, item.entry) })
    else if (item.kind === 'empty folder') page.objects.push({ key: item.key, entry: null })
    else page.groups.push(item.key)
    last = item.key
    count += 1
  }
  return page
}

/** The keys below the base paths do not mix, because none lies in another. */
async function* keysOf(
  storage: Storage,
  granted: BaseGrants<'read'>,
  query: KeyQuery,
  signal: AbortSignal,
): AsyncGenerator<KeyItem, void, undefined> {
  const bases = granted.map(each => ({ granted: each, base: each.path === root ? '' : `${each.path}/` }))
  const inOrder = bases.toSorted((a, b) => compareNames(a.base, b.base))
  let last = ''
  for (const { granted: each, base } of inOrder) {
    const isBefore = compareNames(base, query.after) < 0 && !query.after.startsWith(base)
    if (isBefore) continue
    for await (const item of keysBelow(storage, each, query, signal)) {
      // Several base paths can have one way down.
      if (item.key !== last) yield item
      last = item.key
    }
  }
}

async function* keysBelow(
  storage: Storage,
  granted: Grant<'read'>,
  { prefix, after, groups, limit }: KeyQuery,
  signal: AbortSignal,
): AsyncGenerator<KeyItem, void, undefined> {
  const range: KeyRange = { prefix, after, groups, window: limit + 1 }
  const base = granted.path === root ? '' : `${granted.path}/`
  const top = await storage.readAt(granted)
  if (prefix.startsWith(base)) {
    const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1)
    const location = locationOf(top, folder)
    if (location) yield* walkKeys(location, folder, range, signal)
    return
  }
  if (!base.startsWith(prefix)) return
  const group = groups ? base.slice(0, base.indexOf('/', prefix.length) + 1) : base
  if (!groups || (after.startsWith(group) && after !== group)) {
    for await (const item of walkKeys(top, base, { ...range, groups: false }, signal)) {
      yield groups ? { kind: 'group', key: group } : item
      if (groups) return
    }
  } else if (compareNames(group, after) > 0) yield { kind: 'group', key: group }
}

/** Returns null if no folder can have this key. */
function locationOf(top: ReadLocation, key: string): ReadLocation | null {
  if (key === '') return top
  // The path of the root.
  if (key === '/') return null
  const path = pathOfKey(key.slice(0, -1))
  return path === null ? null : top.at(path)
}

/** Returns the path of the file with a key; null if no file can have it. */
export function pathOfKey(key: string): StoragePath | null {
  try {
    return parsePath(`/${key}`)
  } catch (error) {
    if (error instanceof AppError && error.reason === 'INVALID_PATH') return null
    throw error
  }
}

// The walk yields the paths of files, and of empty folders with a "/" behind them, in the order of the keys.

type KeyItem =
  | { kind: 'file'; key: string; entry: CheckedEntry; location: ReadLocation }
  | { kind: 'empty folder'; key: string }
  /** The common prefix of the keys below a folder. */
  | { kind: 'group'; key: string }

/** Which keys a walk yields. */
interface KeyRange {
  /** All keys begin with this text. */
  prefix: string
  /** All keys come after this one. */
  after: string
  /** True to list each folder as one common prefix, which ends in "/", instead of its keys. */
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
async function* walkKeys(
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
    if (isMissingChild(error)) return { first: [], hasMore: false, isEmpty: false }
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
