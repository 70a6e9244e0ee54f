/** The tags of entries. Everybody who may read an entry sees its tags. */
import { sql } from 'kysely'
import type { ProviderAccess } from '../auth/access.ts'
import type { StoragePath } from '../auth/path.ts'
import type { Change, Database } from './client.ts'
import { isMarkVisible } from './entry-marks.ts'
import { isAtAny, restoredPath, storedPath } from './entry-paths.ts'
import { batched } from './lookups.ts'

export interface TaggedEntry {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  providerId: string
  path: StoragePath
  isFolder: boolean
}

/** A tag, with the number of the entries that have it. */
export interface TagCount extends TagName {
  count: number
}

/** A name, and what two names have in common that differ only in case. */
export interface TagName {
  name: string
  key: string
}

type TaggedAt = Pick<TaggedEntry, 'providerId' | 'path'>

/** Returns a function that finds the tags of an entry, sorted. Lookups of one turn of the event loop share a query. */
export function batchedTags(db: Database): (at: TaggedAt) => Promise<string[]> {
  const load = batched(async (keys: readonly string[]) => {
    const wanted = keys.map(key => {
      const end = key.indexOf('/')
      return { providerId: key.slice(0, end), path: key.slice(end + 1) as StoragePath }
    })
    const rows = await db
      .selectFrom('entry_tags')
      .select(['provider_id', 'path', 'name'])
      .where('provider_id', 'in', [...new Set(wanted.map(({ providerId }) => providerId))])
      .where(isAtAny([...new Set(wanted.map(({ path }) => storedPath(path)))]))
      .orderBy('name_key')
      .execute()
    const groups = Map.groupBy(rows, row => `${row.provider_id}/${restoredPath(row.path)}`)
    return new Map([...groups].map(([key, group]) => [key, group.map(({ name }) => name)]))
  })
  return async ({ providerId, path }) => (await load(`${providerId}/${path}`)) ?? []
}

/** Lets changes to the tags of a workspace take turns until the end of the transaction, so that none exceeds a limit that each checks. */
export async function lockTags(db: Change, workspaceId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`tags ${workspaceId}`}, 0))`.execute(db)
}

/** Adds tags to an entry, under `lockTags`. A tag that the entry has keeps its spelling. @param nextId makes the id of each */
export async function insertTags(
  db: Change,
  { workspaceId, providerId, path, isFolder }: Omit<TaggedEntry, 'id'> & { workspaceId: string },
  names: readonly TagName[],
  nextId: () => string,
): Promise<void> {
  if (names.length === 0) return
  const rows = names.map(({ name, key }) => ({
    id: nextId(),
    workspace_id: workspaceId,
    provider_id: providerId,
    path: storedPath(path),
    name,
    name_key: key,
    is_folder: isFolder,
  }))
  await db
    .insertInto('entry_tags')
    .values(rows)
    .onConflict(conflict => conflict.doNothing())
    .execute()
}

export async function deleteTags(db: Change, { providerId, path }: TaggedAt, names: readonly TagName[]): Promise<void> {
  if (names.length === 0) return
  await db
    .deleteFrom('entry_tags')
    .where('provider_id', '=', providerId)
    .where(isAtAny([storedPath(path)]))
    .where(
      'name_key',
      'in',
      names.map(({ key }) => key),
    )
    .execute()
}

/** Returns the number of tags of an entry, and of all entries of the workspace, but no more than `max`. */
export async function countTags(
  db: Database,
  { workspaceId, providerId, path }: TaggedAt & { workspaceId: string },
  max: number,
): Promise<{ ofEntry: number; ofWorkspace: number }> {
  const { rows } = await sql<{ ofEntry: number; ofWorkspace: number }>`
    select (select count(*)::integer from entry_tags where provider_id = ${providerId} and ${isAtAny([storedPath(path)])})
        as "ofEntry",
      (select count(*)::integer from (select from entry_tags where workspace_id = ${workspaceId} limit ${max}) as counted)
        as "ofWorkspace"`.execute(db)
  return rows[0] ?? { ofEntry: 0, ofWorkspace: 0 }
}

/** Lists the tags of the entries that an access includes, in the order of their names. @param page.after the key before the first one */
export async function listTags(
  db: Database,
  { workspaceId, access }: { workspaceId: string; access: ProviderAccess },
  { limit, after }: { limit: number; after: string | null },
): Promise<TagCount[]> {
  const isFollowing = after === null ? sql`true` : sql`name_key > ${after}`
  const { rows } = await sql<TagCount>`
    select min(name) as name, name_key as key, count(*)::integer as count from entry_tags
    where workspace_id = ${workspaceId} and ${isMarkVisible(access)} and ${isFollowing}
    group by name_key order by name_key limit ${limit}`.execute(db)
  return rows
}

/** Lists the entries with a tag that an access includes, the ones that got it last first. */
export async function listTagged(
  db: Database,
  { workspaceId, access, key }: { workspaceId: string; access: ProviderAccess; key: string },
  { limit, before }: { limit: number; before: string | null },
): Promise<TaggedEntry[]> {
  const rows = await db
    .selectFrom('entry_tags')
    .select(['id', 'provider_id', 'path', 'is_folder'])
    .where('workspace_id', '=', workspaceId)
    .where('name_key', '=', key)
    .where(isMarkVisible(access))
    .$if(before !== null, query => query.where('id', '<', before as string))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(row => ({
    id: row.id,
    providerId: row.provider_id,
    path: restoredPath(row.path),
    isFolder: row.is_folder,
  }))
}

/** Selects the entries `e` of catalogues that have a tag. */
export function hasTag(key: string) {
  return sql<boolean>`exists (
    select from entry_tags t join catalogues c on c.provider_id = t.provider_id
    where c.id = e.catalogue and t.name_key = ${key} and md5(t.path) = md5('/' || e.path || '/')
      and t.path = '/' || e.path || '/')`
}
