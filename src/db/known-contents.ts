/** The known contents of files: what a VERIFY compares with the files. */
import { sql } from 'kysely'
import type { StoragePath } from '../auth/path.ts'
import type { Database } from './client.ts'
import { type ContentVersion, type FileAt, isIn } from './content-checksums.ts'

export interface KnownContent extends ContentVersion {
  path: StoragePath
  sha256: Buffer
  /** When the content was last read; null if it was only written. */
  readAt: Date | null
}

interface KnownRow extends Omit<KnownContent, 'size'> {
  size: string
}

const columns = sql`path, size, modified_at as "modifiedAt", etag, content_tag as "contentTag", sha256, read_at as "readAt"`

function toKnown({ size, ...row }: KnownRow): KnownContent {
  return { ...row, size: Number(size) }
}

/** Returns the known contents of these files. */
export async function findKnown(db: Database, files: readonly FileAt[]): Promise<readonly (KnownContent & FileAt)[]> {
  const { rows } = await sql<KnownRow & FileAt>`
    select k.provider_id as "providerId", ${columns} from content_checksums k
    where (k.provider_id, k.path) in (
      select * from unnest(${files.map(({ providerId }) => providerId)}::uuid[], ${files.map(({ path }) => path)}::text[]))`.execute(
    db,
  )
  return rows.map(({ providerId, ...row }) => ({ providerId, ...toKnown(row) }))
}

/** Returns the known files at and below a path that have not been read since a time. They are in order of their paths, and come after one. */
export async function listUnread(
  db: Database,
  { providerId, path }: FileAt,
  { since, after, limit }: { since: Date; after: string; limit: number },
): Promise<KnownContent[]> {
  const { rows } = await sql<KnownRow>`
    select ${columns} from content_checksums
    where provider_id = ${providerId} and ${isIn(sql`path`, path)} and path > ${after} and (read_at is null or read_at < ${since})
    order by path limit ${limit}`.execute(db)
  return rows.map(toKnown)
}

/** Stores a content that was read just now. */
export async function storeRead(
  db: Database,
  { providerId, path }: FileAt,
  { size, modifiedAt, etag, contentTag }: ContentVersion,
  sha256: Buffer,
): Promise<void> {
  await sql`
    insert into content_checksums (provider_id, path, size, modified_at, etag, content_tag, sha256, read_at)
    values (${providerId}, ${path}, ${size}, ${modifiedAt}, ${etag}, ${contentTag}, ${sha256}, now())
    on conflict (provider_id, path) do update set size = excluded.size, modified_at = excluded.modified_at,
      etag = excluded.etag, content_tag = excluded.content_tag, sha256 = excluded.sha256, read_at = excluded.read_at`.execute(
    db,
  )
}
