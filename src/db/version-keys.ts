/** Earlier versions in the order of their keys, which are paths without the first `/`, such as `a/b.txt`. */
import { type Selectable, type SqlBool, sql } from 'kysely'
import type { StoragePath } from '../auth/path.ts'
import type { Database } from './client.ts'
import { isWithinPath, storedPath } from './entry-paths.ts'
import { type EarlierVersion, toVersion } from './file-versions.ts'
import type { Schema } from './schema.ts'

/** A version and its key, or a common prefix of keys. */
export interface VersionKey {
  key: string
  version: EarlierVersion | null
}

/** The last character of Unicode: all keys with a prefix come before the prefix and this. */
const lastCharacter = '\u{10ffff}'

/**
 * Returns the versions whose keys have a prefix and come after a key, of each key the newest first.
 * @param query.within the folders in which they are
 * @param query.before continues within the key `after`, with the versions before this id; null to begin with the next key
 * @param query.groups true to return each folder below the prefix as one common prefix, which ends in "/"
 */
export async function listVersionKeys(
  db: Database,
  query: {
    providerId: string
    within: readonly StoragePath[]
    prefix: string
    after: string
    before: string | null
    groups: boolean
    limit: number
  },
): Promise<VersionKey[]> {
  const { providerId, within, prefix, before, groups, limit } = query
  // PostgreSQL stores no NUL, so no key has one, and each key after "a\0…" comes after "a".
  if (prefix.includes('\0')) return []
  const [after = ''] = query.after.split('\0')
  const top = `/${prefix}`
  // The content of a folder has been read for its common prefix. "0" is the character after "/".
  const isGroup = groups && after !== prefix && after.startsWith(prefix) && after.endsWith('/')
  const start = `/${isGroup ? `${after.slice(0, -1)}0` : after}`
  const isWithin = sql.join(
    within.map(path => isWithinPath(storedPath(path))),
    sql` or `,
  )
  const rest = sql`substr(object_key, length(${prefix}::text) + 1)`
  const isBelow = sql<SqlBool>`(${groups}::boolean and strpos(${rest}, '/') > 0)`
  const { rows } = await sql<Selectable<Schema['file_versions']> & { item: string; is_group: boolean }>`
    select distinct on (item collate "C", version_id) * from (
      select *, ${isBelow} as is_group, case when ${isBelow} then null else id end as version_id,
        case when ${isBelow} then left(object_key, length(${prefix}::text) + strpos(${rest}, '/')) else object_key end as item
      from (
        select *, substr(path, 2, length(path) - 2) as object_key from file_versions
        where provider_id = ${providerId} and state = 'KEPT' and (${isWithin}) and starts_with(path, ${top})
          and left(path, 400) collate "C" between left(${top}::text, 400) and left(${top}::text, 400) || ${lastCharacter}::text
          -- Keys before the page are not read again.
          and left(path, 400) collate "C" >= left(${start}::text, 400)
      ) as versions
      where starts_with(object_key, ${prefix})
    ) as items
    where item collate "C" > ${after}::text or (item = ${after}::text and version_id < ${before}::uuid)
    order by item collate "C", version_id desc limit ${limit}`.execute(db)
  return rows.map(row => ({ key: row.item, version: row.is_group ? null : toVersion(row) }))
}
