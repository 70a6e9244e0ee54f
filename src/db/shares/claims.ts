/** The limits of shares. Each decision is one statement, so that concurrent requests to several servers cannot exceed a limit. */
import { type SqlBool, sql } from 'kysely'
import { secondsFromNow } from '../claims.ts'
import type { Database } from '../client.ts'

/** Seconds after which an unfinished claim lapses, unless it is renewed. */
export const claimSeconds = 60

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

/** Reserves bytes of a share. Returns false, and reserves nothing, if its limit would be exceeded. */
export async function claimBytes(
  db: Database,
  { id, shareId, bytes }: { id: string; shareId: string; bytes: number },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    with claimed as (
      update shares set received_bytes = received_bytes + ${bytes}::bigint, last_used_at = now()
      where id = ${shareId} and (max_bytes is null or received_bytes + ${bytes}::bigint <= max_bytes)
      returning id
    )
    insert into share_claims (id, share_id, bytes, lapses_at)
    select ${id}::uuid, id, ${bytes}::bigint, ${claimEnd} from claimed`.execute(db)
  return numAffectedRows === 1n
}

export async function renewClaim(db: Database, id: string): Promise<void> {
  await sql`update share_claims set lapses_at = ${claimEnd} where id = ${id}`.execute(db)
}

/** Ends the claim of a file that was stored, whose bytes stay counted. Returns false if the claim has lapsed. */
export async function settleClaim(db: Database, id: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('share_claims').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

/** Returns the bytes of a claim whose file was not stored. */
export async function dropClaim(db: Database, id: string): Promise<void> {
  await returnClaims(db, sql<SqlBool>`id = ${id}`)
}

/** Returns the bytes of the claims of servers that were killed. Returns false if there are none. */
export function returnLapsedClaims(db: Database): Promise<boolean> {
  return returnClaims(db, sql<SqlBool>`lapses_at <= now()`)
}

/** Returns whether there were any. */
async function returnClaims(db: Database, condition: ReturnType<typeof sql<SqlBool>>): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    with ended as (delete from share_claims where ${condition} returning share_id, bytes)
    update shares set received_bytes = greatest(0, received_bytes - returned.bytes)
    from (select share_id, sum(bytes) as bytes from ended group by share_id) as returned
    where shares.id = returned.share_id`.execute(db)
  return numAffectedRows > 0n
}

/** Counts the bytes of a file that had no claim. */
export async function addBytes(db: Database, id: string, bytes: number): Promise<void> {
  await sql`
    update shares set received_bytes = received_bytes + ${bytes}::bigint, last_used_at = now()
    where id = ${id}`.execute(db)
}

/** Adds downloads of shares without a limit. */
export async function addDownloads(db: Database, counts: ReadonlyMap<string, number>): Promise<void> {
  await sql`
    update shares set downloads = shares.downloads + counted.downloads, last_used_at = now()
    from unnest(${[...counts.keys()]}::uuid[], ${[...counts.values()]}::bigint[]) as counted (id, downloads)
    where shares.id = counted.id`.execute(db)
}

const claimEnd = secondsFromNow(claimSeconds)
