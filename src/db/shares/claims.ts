/** The limits of shares. Each decision is one statement, so that concurrent requests to several servers cannot exceed a limit. */
import { type SqlBool, sql } from 'kysely'
import type { Database } from '../client.ts'

/** Counts a download of a share with a limit. Returns false, and counts nothing, if the limit is reached. */
export async function claimDownload(db: Database, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('shares')
    .set({ downloads: sql<string>`downloads + 1`, last_used_at: new Date() })
    .where('id', '=', id)
    .where(sql<SqlBool>`downloads < coalesce(max_downloads, downloads + 1)`)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Reserves bytes of a share with a limit. Returns false, and reserves nothing, if the limit would be exceeded. */
export async function claimBytes(db: Database, id: string, bytes: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('shares')
    .set({ received_bytes: sql<string>`received_bytes + ${bytes}::bigint`, last_used_at: new Date() })
    .where('id', '=', id)
    .where(sql<SqlBool>`(max_bytes is null or received_bytes + ${bytes}::bigint <= max_bytes)`)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns reserved bytes after an upload that did not complete. */
export async function releaseBytes(db: Database, id: string, bytes: number): Promise<void> {
  await db
    .updateTable('shares')
    .set({ received_bytes: sql<string>`greatest(0, received_bytes - ${bytes}::bigint)` })
    .where('id', '=', id)
    .execute()
}

/** Adds downloads of shares without a limit. */
export async function addDownloads(db: Database, counts: ReadonlyMap<string, number>): Promise<void> {
  await sql`
    update shares set downloads = shares.downloads + counted.downloads, last_used_at = now()
    from unnest(${[...counts.keys()]}::uuid[], ${[...counts.values()]}::bigint[]) as counted (id, downloads)
    where shares.id = counted.id`.execute(db)
}
