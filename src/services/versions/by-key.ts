/** Lists the files of a provider with their earlier versions as keys, as S3 does. */
import { isWithin } from '../../auth/path.ts'
import { type BaseGrants, grantBasePaths } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import type { EarlierVersion } from '../../db/file-versions.ts'
import { listVersionKeys, type VersionKey } from '../../db/version-keys.ts'
import { mapAtMost } from '../../lib/limiter.ts'
import type { Storage } from '../../storage/index.ts'
import type { FileEntry } from '../files/entry.ts'
import { type KeyPage, type KeyQuery, listKeys, pathOfKey } from '../files/keys.ts'
import { compareNames } from '../files/list.ts'
import { type KeptVersion, nativeIdOf, newestNative, toKept } from './native.ts'

export type KeyedVersion =
  /** A file as it is now, or an empty folder, which has no entry. */
  | { kind: 'current'; key: string; entry: FileEntry | null }
  /** Says that the file of the versions that follow was deleted. */
  | { kind: 'deleted'; key: string; version: EarlierVersion }
  | { kind: 'earlier'; key: string; version: KeptVersion }
  /** The common prefix of keys. */
  | { kind: 'group'; key: string }

export interface VersionKeyQuery extends KeyQuery {
  /** Continues within the key `after`, with the versions after this id or `afterCurrent`; null to begin with the next key. */
  before: string | null
}

/** The position of an object as it is now, before all of its versions. */
export const afterCurrent = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** The number of objects whose versions the back end lists at the same time. */
const listsAtOnce = 8

/**
 * Returns one page of the keys that the viewer may read, each with its versions, the newest first.
 * @throws CREDENTIAL_REQUIRED, SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED
 */
export async function listWithVersions(
  { db, storage }: { db: Database; storage: Storage },
  viewer: Viewer | null,
  query: VersionKeyQuery,
  signal: AbortSignal,
): Promise<{ items: KeyedVersion[]; hasNext: boolean }> {
  const granted: BaseGrants<'read'> = grantBasePaths(viewer, query.providerId)
  const { limit } = query
  const current = await listKeys(storage, viewer, query, signal)
  if (limit === 0) return { items: [], hasNext: false }
  const within = granted.map(({ path }) => path)
  const isNative = query.before !== null && nativeIdOf(query.before) !== null
  const before = isNative ? afterCurrent : query.before
  const earlier = await listVersionKeys(db, { ...query, before, within, limit: limit + 1 })
  // Each of both lists has enough for a page, so what either of them lacks comes after the page.
  const all = merge(query, current, earlier)
  const hasMore = all.length > limit || current.next !== null
  const [first] = granted
  if (!first || !(await storage.readAt(first)).hasNativeVersions)
    return { items: all.slice(0, limit), hasNext: hasMore }
  const keptAt = (key: string, after: string | null) =>
    nativeVersionsOf(storage, granted, { key, after, limit }, signal)
  const { items, isWhole } = await withNative(all, query, keptAt)
  return { items: items.slice(0, limit), hasNext: hasMore || !isWhole || items.length > limit }
}

/** Adds the versions that the back end keeps of each object, after the object and before the versions of Stowage, until there are enough for a page. */
async function withNative(
  all: readonly KeyedVersion[],
  { after, before, limit }: VersionKeyQuery,
  keptAt: (key: string, after: string | null) => Promise<KeyedVersion[]>,
): Promise<{ items: KeyedVersion[]; isWhole: boolean }> {
  const items: KeyedVersion[] = []
  if (before === afterCurrent) items.push(...(await keptAt(after, null)))
  else if (before !== null && nativeIdOf(before) !== null) items.push(...(await keptAt(after, before)))
  let begin = 0
  for (; begin < all.length && items.length <= limit; begin += listsAtOnce) {
    const part = all.slice(begin, begin + listsAtOnce)
    const kept = await mapAtMost(listsAtOnce, part, async item =>
      item.kind === 'current' && item.entry ? keptAt(item.key, null) : [],
    )
    for (const [index, item] of part.entries()) items.push(item, ...(kept[index] ?? []))
  }
  return { items, isWhole: begin >= all.length }
}

/**
 * Returns enough versions of one object for a page. Of an object with very many, the list ends with the newest ones, so that a client reaches
 * all other keys.
 * @param options.after the id of the version before the first one. If that is gone, the list begins again
 */
async function nativeVersionsOf(
  storage: Storage,
  granted: BaseGrants<'read'>,
  { key, after, limit }: { key: string; after: string | null; limit: number },
  signal: AbortSignal,
): Promise<KeyedVersion[]> {
  // A page can continue at the key of an empty folder, and at whatever a client names.
  const path = pathOfKey(key)
  if (path === null) return []
  const base = granted.find(each => isWithin(path, each.path))
  if (!base) return []
  const location = (await storage.readAt(base)).at(path)
  const all: KeyedVersion[] = []
  const rest: KeyedVersion[] = []
  let isRest = after === null
  const search = newestNative(location, signal)
  for (;;) {
    const { value: each, done } = await search.next()
    // Beginning again could never end where so many versions arrive that the client's place is always too far back.
    if (done) return isRest || !each ? rest : all
    const version = toKept(location, each)
    const item = { kind: 'earlier' as const, key, version }
    if (all.length <= limit) all.push(item)
    if (isRest) rest.push(item)
    if (rest.length > limit) return rest
    isRest ||= version.id === after
  }
}

const ranks = { group: 0, current: 0, deleted: 1, earlier: 2 }

function merge({ after, before }: VersionKeyQuery, current: KeyPage, earlier: readonly VersionKey[]): KeyedVersion[] {
  const groups = new Set([...current.groups, ...earlier.flatMap(({ key, version }) => (version ? [] : [key]))])
  // A page that continues within a key has shown before whether its file was deleted.
  const known = new Set([...current.objects.map(({ key }) => key), ...(before === null ? [] : [after])])
  const items: KeyedVersion[] = [
    ...Array.from(groups, key => ({ kind: 'group' as const, key })),
    ...current.objects.map(object => ({ kind: 'current' as const, ...object })),
  ]
  for (const { key, version } of earlier) {
    if (!version) continue
    if (!known.has(key)) items.push({ kind: 'deleted', key, version })
    known.add(key)
    items.push({ kind: 'earlier', key, version })
  }
  // The sort keeps the order of the versions of one key.
  return items.toSorted((a, b) => compareNames(a.key, b.key) || ranks[a.kind] - ranks[b.kind])
}
