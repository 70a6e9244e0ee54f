/**
 * Deletes uploads. The same statement returns the bytes that a drop link has counted for a file that was not stored, so that they
 * are returned exactly once.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../client.ts'

/** The number of days for which the sweep retries to free the storage of an expired upload at its back end. */
const sweepRetryDays = 7

/** Deletes an upload, only with its lease. */
export async function deleteUpload(db: Database, id: string, lease: string): Promise<void> {
  await deleteWhere(db, sql`id = ${id} and lease_id = ${lease}`)
}

/** Deletes an upload that expired more than a week ago, by the clock of the database. Returns false if it is newer. */
export function deleteLongExpired(db: Database, id: string, lease: string): Promise<boolean> {
  const expired = sql`expires_at < now() - make_interval(days => ${sweepRetryDays})`
  return deleteWhere(db, sql`id = ${id} and lease_id = ${lease} and ${expired}`)
}

async function deleteWhere(db: Database, condition: RawBuilder<unknown>): Promise<boolean> {
  const { rows } = await sql`
    with gone as (
      delete from uploads where ${condition} returning id, credential_kind, credential_id, stored_path, size
    ), returned as (
      update shares set received_bytes = greatest(0, received_bytes - gone.size)
      from gone
      where shares.id = gone.credential_id and gone.credential_kind = 'SHARE'
        and gone.stored_path is null and gone.size > 0
    )
    select id from gone`.execute(db)
  return rows.length > 0
}
