/** Lists the files of a provider with their earlier versions as keys, as S3 does. */
import { type BaseGrants, grantBasePaths } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import type { EarlierVersion } from '../../db/file-versions.ts'
import { listVersionKeys, type VersionKey } from '../../db/version-keys.ts'
import type { Storage } from '../../storage/index.ts'
import type { FileEntry } from '../files/entry.ts'
import { type KeyPage, type KeyQuery, listKeys } from '../files/keys.ts'
import { compareNames } from '../files/list.ts'

export type KeyedVersion =
  /** A file as it is now, or an empty folder, which has no entry. */
  | { kind: 'current'; key: string; entry: FileEntry | null }
  /** Says that the file of the versions that follow was deleted. */
  | { kind: 'deleted'; key: string; version: EarlierVersion }
  | { kind: 'earlier'; key: string; version: EarlierVersion }
  /** The common prefix of keys. */
  | { kind: 'group'; key: string }

export interface VersionKeyQuery extends KeyQuery {
  /** Continues within the key `after`, with the versions before this id; null to begin with the next key. */
  before: string | null
}

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
  const earlier = await listVersionKeys(db, { ...query, within, limit: limit + 1 })
  // Each of both lists has enough for a page, so what either of them lacks comes after the page.
  const all = merge(query, current, earlier)
  return { items: all.slice(0, limit), hasNext: all.length > limit || current.next !== null }
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
