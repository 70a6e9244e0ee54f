/** The SHA-256 of contents that the server has written or read, each for one version of a file. Paths are without a leading "/". */
import { type RawBuilder, sql } from 'kysely'
import type { StoragePath } from '../auth/path.ts'
import type { Database } from './client.ts'

export interface FileAt {
  providerId: string
  path: StoragePath
}

/** The facts that tell one version of a file from another. */
export interface ContentVersion {
  size: number
  modifiedAt: Date | null
  etag: string | null
  /** See the property of the same name in the contract. */
  contentTag: string | null
}

/** The SQL of whether a checksum belongs to the version of a file in the catalogue. A checksum has no time if the write returned none. */
export const isOfVersion = sql<boolean>`k.size = e.size and k.etag is not distinct from e.etag
  and (k.modified_at is not distinct from e.modified_at or (k.modified_at is null and k.etag is not null))`

/** A folder of a catalogue with everything below it, or a file. */
export interface ChecksumRange {
  providerId: string
  catalogue: number
  path: StoragePath
}

export type FileToRead = Omit<ContentVersion, 'contentTag'> & { path: StoragePath }

/** The entries of the catalogue that one query looks at. */
const window = 2000
/** The files of one size that a file is compared with. */
const maxOthers = 200

/**
 * Returns files whose contents have to be read to compare them with other files of the same size: no such file has a checksum of the same
 * algorithm, and the server has not read this version. Looks at some entries only.
 * @param ranges where the other files are
 * @param after the path after which the files are; null to begin
 * @returns `next` is what to give as `after` next; null at the end
 */
export async function findFilesToRead(
  db: Database,
  range: ChecksumRange,
  ranges: readonly ChecksumRange[],
  after: string | null,
): Promise<{ files: FileToRead[]; next: string | null }> {
  const { rows } = await sql<Omit<FileToRead, 'size'> & { size: string | null; isWanted: boolean }>`
    with page as (
      select e.catalogue, e.path, e.size, e.modified_at, e.etag, e.checksums from catalogue_entries e
      where e.catalogue = ${range.catalogue} and not e.is_folder and ${isIn(sql`e.path`, range.path)} and e.path > ${after ?? ''}
      order by e.path limit ${window}
    )
    select e.path, e.size, e.modified_at as "modifiedAt", e.etag,
      coalesce(e.size > 0 and k.path is null and (e.modified_at, e.etag) is distinct from (null, null) and exists (
        select from unnest(${ranges.map(({ catalogue }) => catalogue)}::integer[], ${ranges.map(({ path }) => path)}::text[])
          as r (catalogue, path)
        cross join lateral (
          select o.catalogue, o.path, o.checksums from catalogue_entries o
          where o.catalogue = r.catalogue and o.size = e.size and not o.is_folder
            and (r.path = '' or o.path = r.path or (o.path > r.path || '/' and o.path < r.path || '0'))
          limit ${maxOthers}
        ) o
        where (o.catalogue, o.path) <> (e.catalogue, e.path)
          and not coalesce(o.checksums, '{}') ?| array(
            select name from jsonb_object_keys(coalesce(e.checksums, '{}')) as name where name not like 'crc%')
      ), false) as "isWanted"
    from page e left join content_checksums k on k.provider_id = ${range.providerId} and k.path = e.path and ${isOfVersion}
    order by e.path`.execute(db)
  const files = rows.flatMap(({ isWanted, size, ...file }) => (isWanted ? { ...file, size: Number(size) } : []))
  return { files, next: rows.length < window ? null : (rows.at(-1)?.path ?? null) }
}

/** The SQL of what is at or below a path. Paths are in the order of their bytes, and "0" follows "/". */
export function isIn(column: RawBuilder<unknown>, path: StoragePath): RawBuilder<boolean> {
  if (path === '') return sql<boolean>`true`
  return sql<boolean>`(${column} = ${path} or (${column} > ${`${path}/`} and ${column} < ${`${path}0`}))`
}

/** Deletes checksums of files that are not in the catalogue any more. */
export async function deleteStaleChecksums(
  db: Database,
  { providerId, catalogue, path }: ChecksumRange,
): Promise<void> {
  await sql`
    delete from content_checksums k where k.provider_id = ${providerId} and ${isIn(sql`k.path`, path)} and not exists (
      select from catalogue_entries e where e.catalogue = ${catalogue} and e.path = k.path and ${isOfVersion})`.execute(
    db,
  )
}
