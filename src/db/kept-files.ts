/** The contents on which kept copies and their originals agreed: see `services/jobs/copies`. Paths below the kept folder are without a leading "/". */
import { createHash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { StoragePath } from '../auth/path.ts'
import type { Database } from './client.ts'
import type { ContentVersion, FileAt } from './content-checksums.ts'

/** A file of a kept folder, the same in the original and in each copy. */
export interface KeptPath {
  folder: string
  name: string
}

export interface KeptFile extends KeptPath {
  keptFolder: number
  sha256: Buffer
  original: ContentVersion
  copy: ContentVersion
  /** When both were last read, or the copy was made. */
  checkedAt: Date
  /** The original was deleted or moved through this server. */
  isDeleted: boolean
}

/** Bytes, as in the migration. */
const [maxFolder, maxName] = [1536, 1024]

/** Returns whether the table can hold the path. */
export function fitsKept({ folder, name }: KeptPath): boolean {
  return Buffer.byteLength(folder) <= maxFolder && Buffer.byteLength(name) <= maxName
}

/** Returns the ids of the pairs of an original and its copies, in the order of the copies. */
export async function openKeptFolders(
  db: Database,
  original: FileAt,
  copies: readonly FileAt[],
): Promise<readonly number[]> {
  const pairs = copies.map(({ providerId, path }) => ({ key: keyOf(original, { providerId, path }), providerId, path }))
  const { rows } = await sql<{ id: number; key: Buffer }>`
    insert into kept_folders (key, original_provider_id, original_path, provider_id, path)
    select p.key, ${original.providerId}, ${original.path}, p.provider_id, p.path
    from unnest(${pairs.map(({ key }) => key)}::bytea[], ${pairs.map(({ providerId }) => providerId)}::uuid[],
      ${pairs.map(({ path }) => path)}::text[]) as p (key, provider_id, path) order by p.key
    on conflict (key) do update set used_at = now() returning id, key`.execute(db)
  return pairs.map(({ key }) => {
    const found = rows.find(row => row.key.equals(key))
    if (!found) throw new Error('A kept folder has no row')
    return found.id
  })
}

function keyOf(original: FileAt, copy: FileAt): Buffer {
  const parts = [original.providerId, original.path, copy.providerId, copy.path]
  return createHash('sha256').update(JSON.stringify(parts)).digest()
}

interface KeptRow {
  keptFolder: number
  folder: string
  name: string
  size: string
  originalModifiedAt: Date | null
  originalEtag: string | null
  originalContentTag: string | null
  modifiedAt: Date | null
  etag: string | null
  contentTag: string | null
  sha256: Buffer
  checkedAt: Date
  isDeleted: boolean
}

const columns = sql`kept_folder as "keptFolder", folder, name, size, original_modified_at as "originalModifiedAt",
  original_etag as "originalEtag", original_content_tag as "originalContentTag", modified_at as "modifiedAt", etag,
  content_tag as "contentTag", sha256, checked_at as "checkedAt", is_deleted as "isDeleted"`

function toKept(row: KeptRow): KeptFile {
  const { keptFolder, folder, name, sha256, checkedAt, isDeleted } = row
  const size = Number(row.size)
  const { originalModifiedAt, originalEtag, originalContentTag, modifiedAt, etag, contentTag } = row
  return {
    keptFolder,
    folder,
    name,
    sha256,
    original: { size, modifiedAt: originalModifiedAt, etag: originalEtag, contentTag: originalContentTag },
    copy: { size, modifiedAt, etag, contentTag },
    checkedAt,
    isDeleted,
  }
}

/** Returns what is known of some files of one folder, for each of the pairs. */
export async function findKept(
  db: Database,
  keptFolders: readonly number[],
  folder: string,
  names: readonly string[],
): Promise<KeptFile[]> {
  const { rows } = await sql<KeptRow>`
    select ${columns} from kept_files
    where kept_folder = any(${keptFolders}::integer[]) and folder = ${folder} and name = any(${names}::text[])`.execute(
    db,
  )
  return rows.map(toKept)
}

/**
 * Returns what is known of the files of one pair, in the order of their folders and names.
 * @param page.after null to begin
 * @param page.deleted whether files that were deleted or moved through this server count
 */
export async function listKept(
  db: Database,
  keptFolder: number,
  { after, limit, deleted }: { after: KeptPath | null; limit: number; deleted: boolean },
): Promise<KeptFile[]> {
  const { rows } = await sql<KeptRow>`
    select ${columns} from kept_files
    where kept_folder = ${keptFolder} and (folder, name) > (${after?.folder ?? ''}, ${after?.name ?? ''})
      and (not is_deleted or ${deleted})
    order by folder, name limit ${limit}`.execute(db)
  return rows.map(toKept)
}

/** Returns whether at least as many originals should exist. */
export async function hasKept(db: Database, keptFolders: readonly number[], count: number): Promise<boolean> {
  const { rows } = await sql`
    select from kept_files where kept_folder = any(${keptFolders}::integer[]) and not is_deleted limit ${count}`.execute(
    db,
  )
  return rows.length === count
}

export type AgreedFile = Omit<KeptFile, 'isDeleted'>

/** Stores that files and their copies have the same content now. If there are several for one file, the last one counts. */
export async function storeKept(db: Database, files: readonly AgreedFile[]): Promise<void> {
  const byKey = new Map(files.map(file => [`${file.keptFolder} ${file.folder}/${file.name}`, file]))
  const values = <T>(of: (file: AgreedFile) => T) => [...byKey.values()].map(of)
  await sql`
    insert into kept_files (kept_folder, folder, name, size, original_modified_at, original_etag, original_content_tag, modified_at,
      etag, content_tag, sha256, checked_at)
    select * from unnest(${values(({ keptFolder }) => keptFolder)}::integer[], ${values(({ folder }) => folder)}::text[],
      ${values(({ name }) => name)}::text[], ${values(({ copy }) => copy.size)}::bigint[],
      ${values(({ original }) => original.modifiedAt)}::timestamptz[], ${values(({ original }) => original.etag)}::text[],
      ${values(({ original }) => original.contentTag)}::text[], ${values(({ copy }) => copy.modifiedAt)}::timestamptz[],
      ${values(({ copy }) => copy.etag)}::text[], ${values(({ copy }) => copy.contentTag)}::text[],
      ${values(({ sha256 }) => sha256)}::bytea[], ${values(({ checkedAt }) => checkedAt)}::timestamptz[])
      as f (kept_folder, folder, name, size, original_modified_at, original_etag, original_content_tag, modified_at, etag, content_tag,
        sha256, checked_at)
    order by 1, 2, 3
    on conflict (kept_folder, folder, name) do update set size = excluded.size,
      original_modified_at = excluded.original_modified_at, original_etag = excluded.original_etag,
      original_content_tag = excluded.original_content_tag, modified_at = excluded.modified_at, etag = excluded.etag,
      content_tag = excluded.content_tag, sha256 = excluded.sha256, checked_at = excluded.checked_at,
      is_deleted = false`.execute(db)
}

export async function forgetKept(
  db: Database,
  keptFolders: readonly number[],
  { folder, name }: KeptPath,
): Promise<void> {
  await sql`
    delete from kept_files where kept_folder = any(${keptFolders}::integer[]) and folder = ${folder} and name = ${name}`.execute(
    db,
  )
}

/** The path of an entry below a kept folder, and its parts. */
const isBelow = sql`(k.original_path = '' or starts_with(d.path, k.original_path || '/'))`
const below = sql`(case k.original_path when '' then d.path else substr(d.path, length(k.original_path) + 2) end)`
const [folderOf, nameOf] = [
  sql`coalesce(substring(r.path from '^(.*)/[^/]*$'), '')`,
  sql`substring(r.path from '[^/]*$')`,
]

/** The SQL that notes that originals are deleted or moved through this server. */
export function noteDeletedFiles(files: readonly FileAt[]): RawBuilder<unknown> {
  return sql`
    update kept_files f set is_deleted = true
    from unnest(${files.map(({ providerId }) => providerId)}::uuid[], ${files.map(({ path }) => path)}::text[]) as d (provider_id, path)
    join kept_folders k on k.original_provider_id = d.provider_id and ${isBelow}
    cross join lateral (select ${below}) as r (path)
    where f.kept_folder = k.id and f.folder = ${folderOf} and f.name = ${nameOf} and not f.is_deleted`
}

/** As `noteDeletedFiles`, for an entry and everything below it. Each part of the union uses the primary key. */
export function noteDeletedTree({ providerId, path }: FileAt): RawBuilder<unknown> {
  return sql`
    update kept_files f set is_deleted = true
    from (
      select e.kept_folder, e.folder, e.name from kept_folders k join kept_files e on e.kept_folder = k.id
      where k.original_provider_id = ${providerId} and (k.original_path = ${path} or starts_with(k.original_path, ${path} || '/'))
      union all
      select e.kept_folder, e.folder, e.name
      from (select ${path}::text) as d (path)
      join kept_folders k on k.original_provider_id = ${providerId} and ${isBelow}
      cross join lateral (select ${below}) as r (path)
      cross join lateral (
        select * from kept_files e where e.kept_folder = k.id and e.folder = ${folderOf} and e.name = ${nameOf}
        union all
        select * from kept_files e where e.kept_folder = k.id and e.folder = r.path
        union all
        select * from kept_files e where e.kept_folder = k.id and e.folder > r.path || '/' and e.folder < r.path || '0'
      ) as e
    ) as gone
    where f.kept_folder = gone.kept_folder and f.folder = gone.folder and f.name = gone.name and not f.is_deleted`
}

/** Deletes some files of pairs that no job has used for as many days. Returns whether there may be more. */
export async function sweepKept(db: Database, days: number, limit: number): Promise<boolean> {
  const isUnused = sql`k.used_at < now() - make_interval(days => ${days})`
  const { rows } = await sql`
    delete from kept_files f where (f.kept_folder, f.folder, f.name) in (
      select e.kept_folder, e.folder, e.name from kept_files e join kept_folders k on k.id = e.kept_folder and ${isUnused} limit ${limit})
    returning 1 as one`.execute(db)
  if (rows.length === limit) return true
  await sql`delete from kept_folders k where ${isUnused} and not exists (select from kept_files f where f.kept_folder = k.id)`.execute(
    db,
  )
  return false
}

/** Returns the path of a kept file below a location. */
export function keptAt(top: StoragePath, { folder, name }: KeptPath): StoragePath {
  return [top, folder, name].filter(part => part !== '').join('/') as StoragePath
}
