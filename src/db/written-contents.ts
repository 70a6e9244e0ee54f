/** Changes of the known contents of files through this server: see `content-checksums.ts`. */
import { type RawBuilder, sql } from 'kysely'
import type { StoragePath } from '../auth/path.ts'
import { maxCataloguePath } from './catalogue/entries.ts'
import { type Database, executePrepared } from './client.ts'
import { type ContentVersion, type FileAt, isIn } from './content-checksums.ts'
import { noteDeletedFiles, noteDeletedTree } from './kept-files.ts'

export type WrittenContent = FileAt & ContentVersion & { sha256: Buffer }

/** Returns whether the table can hold the path. */
export function fitsTable(path: string): boolean {
  // A UTF-16 code unit has at most three bytes of UTF-8.
  return path.length * 3 <= maxCataloguePath || Buffer.byteLength(path) <= maxCataloguePath
}

/**
 * Stores the contents that files were written with, each path once. If another content of the same version is known, as can happen where
 * times are whole seconds, both are forgotten. A crash of the database can lose some of them.
 */
export async function storeWritten(db: Database, contents: readonly WrittenContent[]): Promise<void> {
  const values = <T>(of: (content: WrittenContent) => T) => contents.map(of)
  // One statement takes one round trip. The setting lasts until its commit.
  await executePrepared(
    db,
    sql`
      with written as (
        select w.* from unnest(${values(({ providerId }) => providerId)}::uuid[], ${values(({ path }) => path)}::text[],
          ${values(({ size }) => size)}::bigint[], ${values(({ modifiedAt }) => modifiedAt)}::timestamptz[],
          ${values(({ etag }) => etag)}::text[], ${values(({ contentTag }) => contentTag)}::text[],
          ${values(({ sha256 }) => sha256)}::bytea[]
        ) as w (provider_id, path, size, modified_at, etag, content_tag, sha256)
        join providers p on p.id = w.provider_id
        cross join set_config('synchronous_commit', 'off', true)
      ),
      unclear as (
        delete from content_checksums k using written w
        where k.provider_id = w.provider_id and k.path = w.path and k.size = w.size and k.sha256 <> w.sha256
          and case when k.etag is null or w.etag is null then k.modified_at = w.modified_at else k.etag = w.etag end
        returning k.provider_id, k.path
      )
      insert into content_checksums (provider_id, path, size, modified_at, etag, content_tag, sha256, read_at)
      select w.provider_id, w.path, w.size, w.modified_at, w.etag, w.content_tag, w.sha256, null from written w
      where not exists (select from unclear u where u.provider_id = w.provider_id and u.path = w.path)
      order by w.provider_id, w.path
      on conflict (provider_id, path) do update set size = excluded.size, modified_at = excluded.modified_at,
        etag = excluded.etag, content_tag = excluded.content_tag, sha256 = excluded.sha256, read_at = null`,
  )
}

/** The SQL that forgets files, but nothing below their paths. */
function deletionOfFiles(files: readonly FileAt[]): RawBuilder<unknown> {
  return sql`
    delete from content_checksums k using unnest(${files.map(({ providerId }) => providerId)}::uuid[],
      ${files.map(({ path }) => path)}::text[]) as f (provider_id, path)
    where k.provider_id = f.provider_id and k.path = f.path`
}

/** The SQL that forgets a file, or a folder with everything below it. */
function deletionOfTree({ providerId, path }: FileAt): RawBuilder<unknown> {
  return sql`delete from content_checksums where provider_id = ${providerId} and ${isIn(sql`path`, path)}`
}

/** Forgets files, but nothing below their paths. */
export async function forgetFiles(db: Database, files: readonly FileAt[]): Promise<void> {
  await deletionOfFiles(files).execute(db)
}

/** As `forgetFiles`, for files that are deleted through this server, so that they are no damage of an original. */
export async function forgetDeletedFiles(db: Database, files: readonly FileAt[]): Promise<void> {
  await sql`with noted as (${noteDeletedFiles(files)}) ${deletionOfFiles(files)}`.execute(db)
}

/** As `forgetDeletedFiles`, for a file or a folder with everything below it. */
export async function forgetDeletedTree(db: Database, at: FileAt): Promise<void> {
  await sql`with noted as (${noteDeletedTree(at)}) ${deletionOfTree(at)}`.execute(db)
}

/** Notes that a file, or everything in a folder, is about to leave its path through this server. */
export async function noteGone(db: Database, at: FileAt): Promise<void> {
  await noteDeletedTree(at).execute(db)
}

/** Moves the known contents of a file, or of everything in a folder, to a new path. Forgets those that were there. */
export async function moveTree(db: Database, from: FileAt, to: StoragePath): Promise<void> {
  await db.transaction().execute(async trx => {
    await deletionOfTree({ providerId: from.providerId, path: to }).execute(trx)
    await sql`
      with noted as (${noteDeletedTree(from)}), moved as (${deletionOfTree(from)} returning *)
      insert into content_checksums (provider_id, path, size, modified_at, etag, content_tag, sha256, read_at)
      select provider_id, ${to}::text || substr(path, length(${from.path}::text) + 1), size, modified_at, etag, content_tag, sha256,
        read_at
      from moved where octet_length(${to}::text) + octet_length(path) - octet_length(${from.path}::text) <= ${maxCataloguePath}
      on conflict (provider_id, path) do nothing`.execute(trx)
  })
}
