/** Finds the entries of a folder at an earlier time, as far as versions and the trash show them. */
import { type SqlBool, sql } from 'kysely'
import { ancestorsOf, type StoragePath } from '../auth/path.ts'
import type { Database } from './client.ts'
import { isAtAny, isWithinPath, restoredPath, storedPath } from './entry-paths.ts'

/** Something that was at a path until it was replaced or deleted. */
export interface Restorable {
  source: 'VERSION' | 'TRASH'
  /** The id of the version, or of the item in the trash. */
  id: string
  path: StoragePath
  kind: 'file' | 'directory'
  /** Bytes; null for a folder, and where the back end does not know it. */
  size: number | null
  modifiedAt: Date | null
  etag: string | null
  until: Date
  /** Whether a folder above it has gone to the trash since, and may come back first. */
  isBelowTrashed: boolean
}

interface Past {
  providerId: string
  /** The time whose state is wanted. */
  at: Date
}

/** Whether a version was stored by the time `at`, as far as its time says. Later ones were created since. */
const isFrom = (at: Date) => sql<SqlBool>`(modified_at is null or modified_at <= ${at})`

/** The paths of the trash, as the table of the versions has them. */
const trashed = sql`(
  select id, provider_id, kind, size, deleted_at, path || '/' as path from trash_items where state = 'TRASHED') as trashed`

/**
 * Returns what was at and below a path at the time and was replaced or deleted since, in the order of the paths: for each path the first
 * of the contents that have gone since, unless it was stored since as well. What was in a folder that is now in the trash comes back with
 * the folder.
 * @param page.after the path after which the page starts; null for the first page
 * @returns `next` is null at the end
 */
export async function listRestorable(
  db: Database,
  { providerId, at, path }: Past & { path: StoragePath },
  { after, limit }: { after: StoragePath | null; limit: number },
): Promise<{ found: Restorable[]; next: StoragePath | null }> {
  const start = after === null ? null : storedPath(after)
  const isOnPage = sql<SqlBool>`provider_id = ${providerId} and ${isWithinPath(storedPath(path))} and (${start}::text is null
    or (left(path, 400) collate "C" >= left(${start}::text, 400) and path collate "C" > ${start}::text))`
  const { rows } = await sql<Omit<Restorable, 'size' | 'isBelowTrashed'> & { size: string | null }>`
    select distinct on (left(path, 400) collate "C", path collate "C") * from (
      select 'VERSION' as source, id, path, 'file' as kind, size, modified_at as "modifiedAt", etag, replaced_at as until
      from file_versions where ${isOnPage} and state = 'KEPT' and replaced_at > ${at}
      union all
      select 'TRASH', id, path, kind, size, null::timestamptz, null::text, deleted_at
      from ${trashed} where ${isOnPage} and deleted_at > ${at}
    ) as gone
    order by left(path, 400) collate "C", path collate "C", until, id limit ${limit}`.execute(db)
  const all = rows.map(row => ({
    ...row,
    path: restoredPath(row.path),
    size: row.size === null ? null : Number(row.size),
  }))
  const goneAt = await whenTrashed(
    db,
    { providerId, at },
    all.flatMap(each => ancestorsOf(each.path)),
  )
  const isInTrash = (each: Pick<Restorable, 'path' | 'until'>) =>
    ancestorsOf(each.path).some(folder => (goneAt.get(folder) ?? each.until) < each.until)
  const isNew = ({ modifiedAt }: Pick<Restorable, 'modifiedAt'>) => modifiedAt !== null && modifiedAt > at
  return {
    found: all
      .filter(each => !isNew(each) && !isInTrash(each))
      .map(each => ({ ...each, isBelowTrashed: ancestorsOf(each.path).some(folder => goneAt.has(folder)) })),
    next: all.length === limit ? (all.at(-1)?.path ?? null) : null,
  }
}

/** Returns the first times since `at` at which folders at these paths were moved to the trash. */
export async function whenTrashed(
  db: Database,
  { providerId, at }: Past,
  paths: readonly StoragePath[],
): Promise<ReadonlyMap<StoragePath, Date>> {
  if (paths.length === 0) return new Map()
  const { rows } = await sql<{ path: string; first: Date }>`
    select path, min(deleted_at) as first from ${trashed}
    where provider_id = ${providerId} and ${isAtAny([...new Set(paths)].map(storedPath))} and kind = 'directory' and deleted_at > ${at}
    group by path`.execute(db)
  return new Map(rows.map(({ path, first }) => [restoredPath(path), first]))
}

/** Returns those of the paths from which something has gone since the time. */
export async function findRestorable(
  db: Database,
  { providerId, at }: Past,
  paths: readonly StoragePath[],
): Promise<ReadonlySet<StoragePath>> {
  if (paths.length === 0) return new Set()
  const isThere = sql<SqlBool>`provider_id = ${providerId} and ${isAtAny(paths.map(storedPath))}`
  const { rows } = await sql<{ path: string }>`
    select path from file_versions where ${isThere} and state = 'KEPT' and replaced_at > ${at} and ${isFrom(at)}
    union select path from ${trashed} where ${isThere} and deleted_at > ${at}`.execute(db)
  return new Set(rows.map(({ path }) => restoredPath(path)))
}
