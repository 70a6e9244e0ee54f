/**
 * Paths in the tables of what belongs to entries: locks, holds and properties. They end with "/", so that one path is at or below another
 * if it starts with it.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { ancestorsOf, type StoragePath } from '../auth/path.ts'
import { batched } from './lookups.ts'

export function storedPath(path: StoragePath): string {
  return path === '' ? '/' : `/${path}/`
}

export function restoredPath(stored: string): StoragePath {
  return stored.slice(1, -1) as StoragePath
}

/** Selects the rows at one of the paths. */
export function isAtAny(paths: readonly string[]): RawBuilder<SqlBool> {
  return sql<SqlBool>`(left(path, 400) collate "C" = any(select left(given, 400) from unnest(${paths}::text[]) as given)
    and path = any(${paths}::text[]))`
}

/** Selects the rows at a path and below it. "0" is the character after "/". */
export function isWithinPath(path: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`(left(path, 400) collate "C" between left(${path}, 400) and left(${`${path.slice(0, -1)}0`}, 400)
    and starts_with(path, ${path}))`
}

/**
 * Returns a function that finds the rows at a path and at the folders around it. Lookups of one turn of the event loop share a query.
 * @param find returns the rows that the condition selects
 */
export function batchedAround<Row extends { providerId: string; path: StoragePath }>(
  find: (at: RawBuilder<SqlBool>) => Promise<Row[]>,
): (providerId: string, path: StoragePath) => Promise<Row[]> {
  const load = batched(async (keys: readonly string[]) => {
    const wanted = keys.map(key => {
      const providerId = key.slice(0, key.indexOf('/'))
      const path = key.slice(providerId.length + 1) as StoragePath
      return { key, providerId, paths: new Set([path, ...ancestorsOf(path)]) }
    })
    const providerIds = [...new Set(wanted.map(({ providerId }) => providerId))]
    const paths = [...new Set(wanted.flatMap(each => [...each.paths]))].map(storedPath)
    const rows = await find(sql<SqlBool>`provider_id = any(${providerIds}::uuid[]) and ${isAtAny(paths)}`)
    return new Map(
      wanted.map(each => [
        each.key,
        rows.filter(row => row.providerId === each.providerId && each.paths.has(row.path)),
      ]),
    )
  })
  return async (providerId, path) => (await load(`${providerId}/${path}`)) ?? []
}
