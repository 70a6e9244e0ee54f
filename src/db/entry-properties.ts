/** Properties that clients attach to entries: each is an XML element. */
import { sql } from 'kysely'
import type { StoragePath } from '../auth/path.ts'
import type { Change, Database } from './client.ts'
import { isAtAny, isWithinPath, restoredPath, storedPath } from './entry-paths.ts'

/** A property name as `{namespace}name`, with the element that has this name. */
export interface EntryProperty {
  name: string
  xml: string
}

/**
 * Returns the properties of entries, by their paths. Stops after the first entry with which the total reaches `maxBytes`.
 * @returns isAll: false if entries that are not in the result may have properties
 */
export async function listProperties(
  db: Database,
  providerId: string,
  paths: readonly StoragePath[],
  maxBytes: number,
): Promise<{ properties: Map<StoragePath, EntryProperty[]>; isAll: boolean }> {
  const bytes = sql`octet_length(path) + octet_length(name) + octet_length(xml)`
  const { rows } = await sql<{ path: string; name: string; xml: string; total: string }>`
    select path, name, xml, total from (
      select path, name, xml, sum(${bytes}) over (order by path) as total, sum(${bytes}) over (partition by path) as own
      from entry_properties
      where provider_id = ${providerId} and ${isAtAny(paths.map(storedPath))}
    ) as found
    where total - own < ${maxBytes}
    order by name`.execute(db)
  const groups = Map.groupBy(rows, ({ path }) => restoredPath(path))
  return {
    properties: new Map([...groups].map(([path, group]) => [path, group.map(({ name, xml }) => ({ name, xml }))])),
    isAll: rows.every(({ total }) => Number(total) < maxBytes),
  }
}

/** Returns whether anything at the path or below it has properties. */
export async function hasPropertiesWithin(db: Database, providerId: string, path: StoragePath): Promise<boolean> {
  const row = await db
    .selectFrom('entry_properties')
    .select('provider_id')
    .where('provider_id', '=', providerId)
    .where(isWithinPath(storedPath(path)))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Lets changes to the properties of one entry take turns until the end of the transaction. Call it before the first change:
 * otherwise, each of several changes could miss what the others add, and two of them could wait for each other.
 */
export async function lockProperties(
  db: Change,
  { providerId, path }: { providerId: string; path: StoragePath },
): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${providerId + storedPath(path)}, 0))`.execute(db)
}

/**
 * Sets properties of an entry, under `lockProperties`. Returns false if the entry then has more of them, or of their XML, than `max`. The
 * caller undoes the change.
 */
export async function setProperties(
  db: Change,
  { providerId, path }: { providerId: string; path: StoragePath },
  properties: readonly EntryProperty[],
  max: { count: number; bytes: number },
): Promise<boolean> {
  if (properties.length === 0) return true
  const [names, xmls] = [properties.map(({ name }) => name), properties.map(({ xml }) => xml)]
  await sql`
    insert into entry_properties (provider_id, path, name, xml)
    select ${providerId}, ${storedPath(path)}, given.name, given.xml
    from unnest(${names}::text[], ${xmls}::text[]) as given (name, xml)
    order by given.name
    on conflict (provider_id, md5(path), md5(name)) do update set name = excluded.name, xml = excluded.xml`.execute(db)
  const { count, bytes } = await db
    .selectFrom('entry_properties')
    .select(({ fn }) => [fn.countAll<string>().as('count'), sql<string>`sum(octet_length(xml))`.as('bytes')])
    .where('provider_id', '=', providerId)
    .where(isAtAny([storedPath(path)]))
    .executeTakeFirstOrThrow()
  return Number(count) <= max.count && Number(bytes) <= max.bytes
}

export async function removeProperties(
  db: Change,
  { providerId, path }: { providerId: string; path: StoragePath },
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return
  await db
    .deleteFrom('entry_properties')
    .where('provider_id', '=', providerId)
    .where(isAtAny([storedPath(path)]))
    .where('name', 'in', names)
    .execute()
}

interface PropertyLocation {
  providerId: string
  path: StoragePath
}

/** Deletes the properties at a path and below it. */
export async function deletePropertiesWithin(db: Database, { providerId, path }: PropertyLocation): Promise<void> {
  await db
    .deleteFrom('entry_properties')
    .where('provider_id', '=', providerId)
    .where(isWithinPath(storedPath(path)))
    .execute()
}

/** Copies the properties at a path and below it. Those that the target has are replaced. */
export async function copyProperties(db: Database, from: PropertyLocation, to: PropertyLocation): Promise<void> {
  const [source, target] = [storedPath(from.path), storedPath(to.path)]
  await sql`
    insert into entry_properties (provider_id, path, name, xml)
    select ${to.providerId}, ${target} || substr(path, length(${source}) + 1), name, xml
    from entry_properties
    where provider_id = ${from.providerId} and ${isWithinPath(source)}
    on conflict (provider_id, md5(path), md5(name)) do update set name = excluded.name, xml = excluded.xml`.execute(db)
}
