/** The entries of catalogues. Paths are without a leading "/" and in the order of their bytes. */
import { type RawBuilder, sql } from 'kysely'
import type { StoragePath } from '../../auth/path.ts'
import { copyInto, type Database, isUniqueViolation } from '../client.ts'
import { queueContents } from './contents.ts'

/** The facts in the catalogue about an entry, besides its name. */
export interface EntryFacts {
  isFolder: boolean
  size: number | null
  modifiedAt: Date | null
  etag: string | null
  /** A hash of the id that the back end gives, as a decimal number of 64 bits. */
  fileId: string | null
  checksums: Readonly<Record<string, string>>
}

export interface CatalogueEntry extends EntryFacts {
  catalogue: number
  path: StoragePath
  /** See the column. */
  name: string
  /** The column, as PostgreSQL writes it. */
  grams: string
  /** The grams of the folders that it is at or below. */
  folders: readonly number[]
  /** The text of the file can be read. */
  hasText: boolean
}

/** The maximum number of bytes of a path in the catalogue, as in the migration. An index holds no longer ones. */
export const maxCataloguePath = 2000

/** Adds entries, or updates those that have changed. Each path is there once. Returns the number of new ones. */
export async function putEntries(db: Database, catalogue: number, entries: readonly CatalogueEntry[]): Promise<number> {
  if (entries.length === 0) return 0
  const { rows } = await sql<{ added: string }>`
    with stored as (
      ${insertionOf(catalogue, entries)}
      on conflict (catalogue, path) do update set is_folder = excluded.is_folder, size = excluded.size,
        modified_at = excluded.modified_at, etag = excluded.etag, file_id = excluded.file_id, checksums = excluded.checksums,
        grams = excluded.grams
      where (catalogue_entries.is_folder, catalogue_entries.size, catalogue_entries.modified_at, catalogue_entries.etag,
        catalogue_entries.file_id, catalogue_entries.checksums)
        is distinct from (excluded.is_folder, excluded.size, excluded.modified_at, excluded.etag, excluded.file_id,
        excluded.checksums)
      returning xmax = 0 as is_new
    )
    select count(*) filter (where is_new) as added from stored`.execute(db)
  await queueTexts(db, catalogue, entries)
  return Number(rows[0]?.added ?? 0)
}

/**
 * The same for entries that the catalogue hardly ever has, in a transaction.
 * @param lines the same entries: see `copyLineOf`
 */
export async function addEntries(
  db: Database,
  catalogue: number,
  entries: readonly CatalogueEntry[],
  lines: string,
): Promise<number> {
  if (entries.length === 0) return 0
  await sql`savepoint before_entries`.execute(db)
  try {
    await copyInto(db, copiedColumns, lines)
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    await sql`rollback to savepoint before_entries`.execute(db)
    return putEntries(db, catalogue, entries)
  }
  await queueTexts(db, catalogue, entries)
  return entries.length
}

const copiedColumns =
  'catalogue_entries (catalogue, path, name, is_folder, size, modified_at, etag, file_id, checksums, grams)'

/** Returns an entry as a line of COPY. */
export function copyLineOf(entry: CatalogueEntry): string {
  const { catalogue, path, name, isFolder, size, modifiedAt, etag, fileId, checksums, grams } = entry
  const time = modifiedAt === null ? nothing : timeOf(modifiedAt)
  const tag = etag === null ? nothing : escaped(etag)
  const sums = jsonOf(checksums)
  const values = [catalogue, escaped(path), escaped(name), isFolder, size ?? nothing, time, tag, fileId ?? nothing]
  return `${values.join('\t')}\t${sums === null ? nothing : escaped(sums)}\t${grams}\n`
}

const nothing = '\\N'
const special = /[\\\t\n\r]/
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function escaped(text: string): string {
  return special.test(text) ? text.replace(/[\\\t\n\r]/g, character => escapes[character] ?? character) : text
}

/** ISO 8601 has a year 0, which PostgreSQL calls 1 BC. */
function timeOf(time: Date): string {
  const year = time.getUTCFullYear()
  if (year > 0) return time.toISOString()
  const rest = time.toISOString().slice(year < 0 ? '-000000'.length : '0000'.length)
  return `${String(1 - year).padStart(4, '0')}${rest} BC`
}

function insertionOf(catalogue: number, entries: readonly CatalogueEntry[]): RawBuilder<unknown> {
  const texts = <T>(of: (entry: CatalogueEntry) => T) => entries.map(of)
  /** Values without characters that an array needs to escape: pg would look for them in each. */
  const plain = (of: (entry: CatalogueEntry) => string | number | boolean | null) => `{${texts(of).join(',')}}`
  return sql`
    insert into catalogue_entries (catalogue, path, name, is_folder, size, modified_at, etag, file_id, checksums, grams)
    select ${catalogue}, e.path, e.name, e.is_folder, e.size, to_timestamp(e.modified / 1000), e.etag, e.file_id,
      e.checksums, e.grams::smallint[]
    from unnest(${texts(({ path }) => path)}::text[], ${texts(({ name }) => name)}::text[],
      ${plain(({ isFolder }) => isFolder)}::boolean[], ${plain(({ size }) => size ?? 'NULL')}::bigint[],
      ${plain(({ modifiedAt }) => modifiedAt?.getTime() ?? 'NULL')}::float8[], ${texts(({ etag }) => etag)}::text[],
      ${plain(({ fileId }) => fileId ?? 'NULL')}::bigint[], ${texts(({ checksums }) => jsonOf(checksums))}::jsonb[],
      ${plain(({ grams }) => `"${grams}"`)}::text[]
    ) as e (path, name, is_folder, size, modified, etag, file_id, checksums, grams)`
}

function queueTexts(db: Database, catalogue: number, entries: readonly CatalogueEntry[]): Promise<void> {
  return queueContents(
    db,
    catalogue,
    entries.filter(({ hasText }) => hasText),
  )
}

function jsonOf(checksums: Readonly<Record<string, string>>): string | null {
  return Object.keys(checksums).length === 0 ? null : JSON.stringify(checksums)
}

/** The SQL of what is below a folder. "0" is the character after "/". */
function isBelow(column: RawBuilder<string>, folder: StoragePath): RawBuilder<boolean> {
  return folder === ''
    ? sql<boolean>`true`
    : sql<boolean>`(${column} > ${`${folder}/`} and ${column} < ${`${folder}0`})`
}

/** Deletes entries, but nothing below them. Returns their number. */
export async function deleteEntries(db: Database, catalogue: number, paths: readonly string[]): Promise<number> {
  if (paths.length === 0) return 0
  const { numAffectedRows } = await sql`
    with contents as (delete from catalogue_contents where catalogue = ${catalogue} and path = any(${paths}))
    delete from catalogue_entries where catalogue = ${catalogue} and path = any(${paths})`.execute(db)
  return Number(numAffectedRows)
}

export async function hasBelow(db: Database, catalogue: number, folder: StoragePath): Promise<boolean> {
  return (await listBelow(db, catalogue, folder, 1)).length > 0
}

/** Returns those of the folders in which there is an entry, and the root. */
export async function findPopulated(
  db: Database,
  catalogue: number,
  folders: readonly StoragePath[],
): Promise<StoragePath[]> {
  const { rows } = await sql<{ path: StoragePath }>`
    select f.path from unnest(${folders}::text[]) f (path)
    where f.path = '' or exists (select from catalogue_entries e
      where e.catalogue = ${catalogue} and e.path > f.path || '/' and e.path < f.path || '0')`.execute(db)
  return rows.map(({ path }) => path)
}

/** Deletes up to `limit` entries below a folder. Returns their number. */
export async function deleteBelow(
  db: Database,
  catalogue: number,
  folder: StoragePath,
  limit: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    with paths as materialized (
      select path from catalogue_entries where catalogue = ${catalogue} and ${isBelow(sql`path`, folder)}
      order by path limit ${limit}
    ),
    contents as (delete from catalogue_contents where catalogue = ${catalogue} and path = any(array(table paths)))
    delete from catalogue_entries where catalogue = ${catalogue} and path = any(array(table paths))`.execute(db)
  return Number(numAffectedRows)
}

interface CatalogueRow {
  path: StoragePath
  isFolder: boolean
  size: string | null
  modifiedAt: Date | null
  etag: string | null
  fileId: string | null
  checksums: Record<string, string> | null
}

const columns = sql`e.path, e.is_folder as "isFolder", e.size, e.modified_at as "modifiedAt", e.etag,
  e.file_id as "fileId", e.checksums`

export type KnownEntry = EntryFacts & { path: StoragePath }

function toKnown(row: CatalogueRow): KnownEntry {
  const { size, checksums, ...rest } = row
  return { ...rest, size: size === null ? null : Number(size), checksums: checksums ?? {} }
}

/** Returns the entries at these paths, in no particular order. */
export async function findEntries(db: Database, catalogue: number, paths: readonly string[]): Promise<KnownEntry[]> {
  const { rows } = await sql<CatalogueRow>`
    select ${columns} from catalogue_entries e where e.catalogue = ${catalogue} and e.path = any(${paths})`.execute(db)
  return rows.map(toKnown)
}

/** Returns what the catalogues know of entries, in the same order; null for one that they do not have. */
export async function findFacts(
  db: Database,
  entries: readonly { providerId: string; path: StoragePath }[],
): Promise<(KnownEntry | null)[]> {
  if (entries.length === 0) return []
  const { rows } = await sql<CatalogueRow & { providerId: string }>`
    select c.provider_id as "providerId", ${columns}
    from unnest(${entries.map(({ providerId }) => providerId)}::uuid[], ${entries.map(({ path }) => path)}::text[])
      as wanted (provider_id, path)
    join catalogues c on c.provider_id = wanted.provider_id and c.mode <> 'OFF'
    join catalogue_entries e on e.catalogue = c.id and e.path = wanted.path`.execute(db)
  const found = new Map(rows.map(({ providerId, ...row }) => [`${providerId}/${row.path}`, toKnown(row)]))
  return entries.map(({ providerId, path }) => found.get(`${providerId}/${path}`) ?? null)
}

/** Returns up to `limit` entries below a folder, in the order of their paths. */
export async function listBelow(
  db: Database,
  catalogue: number,
  folder: StoragePath,
  limit: number,
): Promise<KnownEntry[]> {
  const { rows } = await sql<CatalogueRow>`
    select ${columns} from catalogue_entries e where e.catalogue = ${catalogue} and ${isBelow(sql`e.path`, folder)}
    order by e.path limit ${limit}`.execute(db)
  return rows.map(toKnown)
}

/** Returns which of these paths of catalogues are those of files. */
export async function findFilePaths(
  db: Database,
  paths: readonly { catalogue: number; path: StoragePath }[],
): Promise<{ catalogue: number; path: StoragePath }[]> {
  if (paths.every(({ path }) => path === '')) return []
  const { rows } = await sql<{ catalogue: number; path: StoragePath }>`
    select e.catalogue, e.path
    from unnest(${paths.map(({ catalogue }) => catalogue)}::integer[], ${paths.map(({ path }) => path)}::text[]) as p (catalogue, path)
    join catalogue_entries e on e.catalogue = p.catalogue and e.path = p.path
    where not e.is_folder`.execute(db)
  return rows
}

/** Returns the paths of entries with these ids. */
export async function findById(
  db: Database,
  catalogue: number,
  fileIds: readonly string[],
): Promise<{ path: StoragePath; fileId: string }[]> {
  if (fileIds.length === 0) return []
  const { rows } = await sql<{ path: StoragePath; fileId: string }>`
    select e.path, e.file_id as "fileId" from catalogue_entries e
    where e.catalogue = ${catalogue} and e.file_id = any(${fileIds}::bigint[])`.execute(db)
  return rows
}

/**
 * Returns up to `limit` entries directly in a folder, after a path, in the order of their paths. It skips what is further below with one
 * look into the index for each folder.
 */
export async function listChildren(
  db: Database,
  catalogue: number,
  folder: StoragePath,
  { after, limit }: { after: string | null; limit: number },
): Promise<KnownEntry[]> {
  const prefix = folder === '' ? '' : `${folder}/`
  const isInFolder = isBelow(sql`e.path`, folder)
  const from = (path: RawBuilder<string>) => sql`
    select ${columns} from catalogue_entries e
    where e.catalogue = ${catalogue} and ${isInFolder} and e.path >= ${path} order by e.path limit 1`
  const rest = sql`substr(s.path, ${prefix.length === 0 ? 1 : Array.from(prefix).length + 1}::integer)`
  // No path contains a NUL, so the next possible path has U+0001 behind the present one.
  const next = sql<string>`case strpos(${rest}, '/') when 0 then s.path || chr(1)
    else ${prefix} || split_part(${rest}, '/', 1) || '0' end collate "C"`
  const start = after === null ? sql<string>`${prefix}` : sql<string>`${after} || chr(1)`
  return db.transaction().execute(async trx => {
    // Another plan would read the whole folder again for each row.
    await sql`select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
      set_config('enable_sort', 'off', true)`.execute(trx)
    const { rows } = await sql<CatalogueRow>`
    with recursive scan as (
      (${from(start)})
      union all
      select n.* from scan s cross join lateral (${from(next)}) n
    )
    select * from scan s where strpos(${rest}, '/') = 0 limit ${limit}`.execute(trx)
    return rows.map(toKnown)
  })
}

/** Returns up to `limit` folders at or below a folder, from a path on, in the order of their paths. */
export async function listFolders(
  db: Database,
  catalogue: number,
  folder: StoragePath,
  { from, limit }: { from: string; limit: number },
): Promise<StoragePath[]> {
  const { rows } = await sql<{ path: StoragePath }>`
    select path from catalogue_entries
    where catalogue = ${catalogue} and is_folder and path >= ${from}
      and (path = ${folder} or ${isBelow(sql`path`, folder)})
    order by path limit ${limit}`.execute(db)
  return rows.map(({ path }) => path)
}
