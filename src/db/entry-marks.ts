/**
 * Stars, tags and comments of entries. They follow an entry that is moved, also into another provider and into the trash, and end with it. A
 * copy begins without any.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { listBasePaths, type ProviderAccess } from '../auth/access.ts'
import { childOf, type StoragePath, trashFolder } from '../auth/path.ts'
import type { Database } from './client.ts'
import { isWithinPath, storedPath } from './entry-paths.ts'
import { agesOf, type EntryMove } from './file-versions.ts'

interface MarkedLocation {
  providerId: string
  path: StoragePath
}

/** The columns of each table besides those of a location. */
const markTables = {
  entry_stars: sql.raw('id, workspace_id, user_id, is_folder, created_at'),
  entry_tags: sql.raw('id, workspace_id, name, name_key, is_folder, created_at'),
}
const tableNames = Object.keys(markTables) as (keyof typeof markTables)[]
/** An entry has any number of comments, so a comment keeps its row when it moves, and with it what refers to that row. */
const commentTable = sql.table('entry_comments')

/**
 * Gives the marks of everything at some paths and below them the paths that it has been moved to. An entry that has the same mark at its new
 * path keeps that one.
 * @param before only those that are older; null for all
 */
export async function moveMarks(db: Database, moves: readonly EntryMove[], before: Date | null): Promise<void> {
  const changed = moves.filter(({ from, to }) => from.providerId !== to.providerId || from.path !== to.path)
  if (changed.length === 0) return
  const columns = [
    changed.map(({ from }) => from.providerId),
    changed.map(({ from }) => storedPath(from.path)),
    changed.map(({ to }) => to.providerId),
    changed.map(({ to }) => storedPath(to.path)),
    agesOf(changed),
  ]
  const moved = sql`unnest(${columns[0]}::uuid[], ${columns[1]}::text[], ${columns[2]}::uuid[], ${columns[3]}::text[],
      ${columns[4]}::double precision[]) as moved (provider_id, source, to_provider_id, target, age)
    where mark.provider_id = moved.provider_id
      and left(mark.path, 400) collate "C" between left(moved.source, 400) and left(rtrim(moved.source, '/') || '0', 400)
      and starts_with(mark.path, moved.source)
      and mark.created_at <= least(${before}::timestamptz, now() - moved.age * interval '1 millisecond')`
  const newPath = sql`moved.target || substr(mark.path, length(moved.source) + 1)`
  await sql`update ${commentTable} as mark set provider_id = moved.to_provider_id, path = ${newPath} from ${moved}`.execute(
    db,
  )
  for (const name of tableNames) {
    const table = sql.table(name)
    await sql`
      with gone as (
        delete from ${table} as mark using ${moved} returning mark.*, moved.to_provider_id, ${newPath} as new_path
      )
      insert into ${table} (provider_id, path, ${markTables[name]})
      select to_provider_id, new_path, ${markTables[name]} from gone
      on conflict do nothing`.execute(db)
  }
}

/**
 * Removes the marks of everything at a path and below it.
 * @param before only those that are older; null for all
 */
export async function deleteMarksWithin(
  db: Database,
  { providerId, path }: MarkedLocation,
  before: Date | null = null,
): Promise<void> {
  for (const table of [commentTable, ...tableNames.map(name => sql.table(name))]) {
    await sql`
      delete from ${table} where provider_id = ${providerId} and ${isWithinPath(storedPath(path))}
        and created_at <= coalesce(${before}::timestamptz, now())`.execute(db)
  }
}

/** Where the marks of an item in the trash are until it is restored. */
export function trashedMarks({ id, providerId }: { id: string; providerId: string }): MarkedLocation {
  return { providerId, path: childOf(trashFolder, id) }
}

/** Selects the marks of entries that an access includes, and not those in the trash. */
export function isMarkVisible(access: ProviderAccess): RawBuilder<SqlBool> {
  const isPresent = sql<SqlBool>`not starts_with(path, ${storedPath(trashFolder)})`
  if (access.all) return isPresent
  const folders = [...listBasePaths(access)]
  const ids = folders.map(([providerId]) => providerId)
  const paths = folders.map(([, path]) => storedPath(path))
  // Within the subquery, a name without a table means a column of the base paths first, so none of these has a name of the marks.
  return sql<SqlBool>`(${isPresent} and exists (
    select from unnest(${ids}::text[], ${paths}::text[]) as base (base_provider_id, base_path)
    where base_provider_id = provider_id::text and starts_with(path, base_path)))`
}
