/** Finds in the catalogues what takes up space. The ranges of each query exclude everything that the viewer cannot access. */
import { type RawBuilder, sql } from 'kysely'
import type { StoragePath } from '../../auth/path.ts'
import type { Database } from '../client.ts'
import { isOfVersion } from '../content-checksums.ts'
import { isShown } from './search.ts'

/** A folder, with everything below it, or a file. */
export interface InsightRange {
  catalogue: number
  path: StoragePath
}

/** Milliseconds. */
const timeout = 10_000

/** Runs queries that may read the sizes of many files. @throws an error of PostgreSQL with the code 57014 if it takes too long */
function bounded<T>(db: Database, query: (trx: Database) => Promise<T>): Promise<T> {
  return db.transaction().execute(async trx => {
    await sql`select set_config('statement_timeout', ${String(timeout)}, true), set_config('work_mem', '32MB', true)`.execute(
      trx,
    )
    return query(trx)
  })
}

/** The SQL of what is at or below a range. Paths are in the order of their bytes, and "0" follows "/". */
function isIn(table: 'e' | 'f', { catalogue, path }: InsightRange): RawBuilder<boolean> {
  const [own, column] = [sql.ref(`${table}.catalogue`), sql.ref(`${table}.path`)]
  if (path === '') return sql<boolean>`${own} = ${catalogue}`
  return sql<boolean>`${own} = ${catalogue} and ${column} >= ${path} and ${column} < ${`${path}0`}
    and (${column} = ${path} or ${column} > ${`${path}/`})`
}

/** Combines the rows of a query for each range, so that PostgreSQL knows how much each range contains. */
function inEach(ranges: readonly InsightRange[], query: (range: InsightRange, at: number) => RawBuilder<unknown>) {
  return sql.join(
    ranges.map((range, at) => sql`(${query(range, at)})`),
    sql` union all `,
  )
}

interface CountRow {
  files: string
  bytes: string
}

export interface FileCount {
  files: number
  bytes: number
}

const toCount = ({ files, bytes }: CountRow): FileCount => ({ files: Number(files), bytes: Number(bytes) })

/** Returns the files in each range, in the order of the ranges. */
export async function countFiles(db: Database, ranges: readonly InsightRange[]): Promise<FileCount[]> {
  if (ranges.length === 0) return []
  const query = inEach(
    ranges,
    (range, at) => sql`
      select ${at}::integer as at, coalesce(sum(c.files), 0) as files, coalesce(sum(c.bytes), 0) as bytes from (
        select f.files, f.bytes from catalogue_folders f where ${isIn('f', range)}
        union all
        select 1, coalesce(e.size, 0) from catalogue_entries e
        where e.catalogue = ${range.catalogue} and e.path = ${range.path} and not e.is_folder
      ) c`,
  )
  const { rows } = await bounded(db, trx => sql<CountRow>`select * from (${query}) r order by at`.execute(trx))
  return rows.map(toCount)
}

export interface FolderCounts {
  /** All files in the folder and below. */
  all: FileCount
  /** Those directly in the folder. */
  direct: FileCount
  /** Some of the folders in the folder that contain files, the largest first. */
  folders: (FileCount & { path: StoragePath })[]
}

/** Returns the files in a folder and in up to `limit` of its folders. */
export async function countFolders(
  db: Database,
  { catalogue, path }: InsightRange,
  limit: number,
): Promise<FolderCounts> {
  const prefix = path === '' ? '' : `${path}/`
  const isBelow = path === '' ? sql`f.path <> ''` : sql`f.path > ${prefix} and f.path < ${`${path}0`}`
  const name = sql`split_part(substr(f.path, ${Array.from(prefix).length + 1}::integer), '/', 1)`
  interface Row extends CountRow {
    path: StoragePath
    allFiles: string
    allBytes: string
  }
  return bounded(db, async trx => {
    const { rows } = await sql<Row>`
      select c.path, c.files, c.bytes, sum(c.files) over () as "allFiles", sum(c.bytes) over () as "allBytes" from (
        select ${prefix} || ${name} as path, sum(f.files) as files, sum(f.bytes) as bytes
        from catalogue_folders f where f.catalogue = ${catalogue} and ${isBelow} group by 1
      ) c order by c.bytes desc, c.path limit ${limit}`.execute(trx)
    const own = await sql<CountRow>`
      select f.files, f.bytes from catalogue_folders f where f.catalogue = ${catalogue} and f.path = ${path}`.execute(
      trx,
    )
    const direct = toCount(own.rows[0] ?? { files: '0', bytes: '0' })
    const below = toCount({ files: rows[0]?.allFiles ?? '0', bytes: rows[0]?.allBytes ?? '0' })
    return {
      all: { files: below.files + direct.files, bytes: below.bytes + direct.bytes },
      direct,
      folders: rows.map(({ path, ...row }) => ({ path, ...toCount(row) })),
    }
  })
}

export interface InsightFile {
  catalogue: number
  path: StoragePath
  size: number | null
  modifiedAt: Date | null
  etag: string | null
  checksums: Readonly<Record<string, string>>
}

interface FileRow extends Omit<InsightFile, 'size' | 'checksums'> {
  size: string | null
  checksums: Record<string, string> | null
}

const columns = sql`e.catalogue, e.path, e.size, e.modified_at as "modifiedAt", e.etag, e.checksums`

function toFile({ size, checksums, ...row }: FileRow): InsightFile {
  return { ...row, size: size === null ? null : Number(size), checksums: checksums ?? {} }
}

export type FileRank = 'LARGEST' | 'OLDEST' | 'NEWEST'

/**
 * The condition and the order of each list of files, for one range of paths and for all ranges together. A file with a time in the future would stay the newest
 * one for years, so those of more than a day are left out. Clocks differ by less.
 */
const ranks: Readonly<
  Record<FileRank, readonly [isKnown: RawBuilder<unknown>, inOne: RawBuilder<unknown>, inAll: RawBuilder<unknown>]>
> = {
  LARGEST: [sql`e.size is not null`, sql`e.size desc`, sql`r.size desc`],
  OLDEST: [sql`e.modified_at is not null`, sql`e.modified_at`, sql`r."modifiedAt"`],
  NEWEST: [sql`e.modified_at < now() + interval '1 day'`, sql`e.modified_at desc`, sql`r."modifiedAt" desc`],
}

/** Returns the first `limit` files of a rank. */
export async function rankFiles(
  db: Database,
  ranges: readonly InsightRange[],
  rank: FileRank,
  limit: number,
): Promise<InsightFile[]> {
  if (ranges.length === 0) return []
  const [isKnown, order, all] = ranks[rank]
  const query = inEach(
    ranges,
    range => sql`
      select ${columns} from catalogue_entries e
      where ${isIn('e', range)} and not e.is_folder and ${isKnown} and ${isShown}
      order by ${order} limit ${limit}`,
  )
  const { rows } = await bounded(db, trx =>
    sql<FileRow>`select * from (${query}) r order by ${all}, r.catalogue, r.path limit ${limit}`.execute(trx),
  )
  return rows.map(toFile)
}

/** Returns up to `limit` sizes that several files have, the largest first. @param most the largest size; null for any */
export async function repeatedSizes(
  db: Database,
  ranges: readonly InsightRange[],
  most: number | null,
  limit: number,
): Promise<number[]> {
  if (ranges.length === 0) return []
  const isBelow = most === null ? sql`true` : sql`e.size <= ${most}`
  const query = inEach(
    ranges,
    range => sql`
      select e.size from catalogue_entries e
      where ${isIn('e', range)} and not e.is_folder and e.size > 0 and ${isBelow}`,
  )
  const { rows } = await bounded(db, trx =>
    sql<{ size: string }>`
      select r.size from (${query}) r group by r.size having count(*) > 1 order by r.size desc limit ${limit}`.execute(
      trx,
    ),
  )
  return rows.map(({ size }) => Number(size))
}

/** Returns up to `limit` files of each of these sizes. */
export async function filesOfSizes(
  db: Database,
  ranges: readonly InsightRange[],
  sizes: readonly number[],
  limit: number,
): Promise<InsightFile[]> {
  const query = inEach(
    ranges,
    range => sql`
      select ${columns}, row_number() over (partition by e.size order by e.path) as number,
        case when k.sha256 is not null then jsonb_build_object('sha256', encode(k.sha256, 'hex')) end as read
      from catalogue_entries e
      left join catalogues c on c.id = e.catalogue
      left join content_checksums k on k.provider_id = c.provider_id and k.path = e.path and ${isOfVersion}
      where ${isIn('e', range)} and not e.is_folder and e.size = any(${sizes}::bigint[]) and ${isShown}`,
  )
  const { rows } = await bounded(db, trx =>
    sql<FileRow>`
      select r.catalogue, r.path, r.size, r."modifiedAt", r.etag,
        coalesce(r.checksums, '{}') || coalesce(r.read, '{}') as checksums
      from (${query}) r
      where r.number <= ${limit} order by r.catalogue, r.path`.execute(trx),
  )
  return rows.map(toFile)
}
