/** Paths in the tables of WebDAV end with "/", so that one path is at or below another if it starts with it. */
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { StoragePath } from '../../auth/path.ts'

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
