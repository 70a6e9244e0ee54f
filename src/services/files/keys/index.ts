/** Lists the files of a provider as keys, such as `a/b.txt`, in one order for all back ends. */
import { parsePath, root } from '../../../auth/path.ts'
import { type BaseGrants, type Grant, grantBasePaths } from '../../../auth/policy.ts'
import type { Viewer } from '../../../auth/viewer.ts'
import { AppError } from '../../../errors.ts'
import type { Storage } from '../../../storage/index.ts'
import type { ReadLocation } from '../../../storage/read-location.ts'
import { entryAt, type FileEntry } from '../entry.ts'
import { compareNames } from '../name-order.ts'
import { type KeyItem, type KeyRange, walkKeys } from './walk-keys.ts'

export interface KeyQuery {
  providerId: string
  prefix: string
  /** All keys come after this one; empty for the first page. */
  after: string
  /** Whether the keys below a folder count as one. */
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
  try {
    return top.at(parsePath(`/${key.slice(0, -1)}`))
  } catch (error) {
    if (error instanceof AppError && error.reason === 'INVALID_PATH') return null
    throw error
  }
}
