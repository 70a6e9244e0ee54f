/**
 * Deletes uploads, and finds those that no client can resume, whose storage at a back end the sweep frees. The same
 * statement returns the bytes that a drop link has counted for a file that was not stored, so that they are returned
 * exactly once.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Database } from '../client.ts'
import { isUnleased, leaseEnd, toUpload, type UploadRecord } from './record.ts'

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

/** Matches uploads that have expired, and unfinished ones whose credential has ended. */
const isDead = sql<SqlBool>`(
  u.expires_at <= now()
  or (u.stored_path is null and u.credential_kind = 'SESSION' and not exists (
    select from sessions s where s.id = u.credential_id and s.revoked_at is null and s.expires_at > now()))
  or (u.stored_path is null and u.credential_kind = 'API_KEY' and not exists (
    select from api_keys k where k.id = u.credential_id and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > now())))
  or (u.stored_path is null and u.credential_kind = 'SHARE' and not exists (
    select from shares s where s.id = u.credential_id and s.revoked_at is null
      and (s.expires_at is null or s.expires_at > now())))
)`

/**
 * Takes the lease of an upload that no client can resume, or of any upload to `providerId`, unless a request has its lease.
 * Concurrent calls get different uploads.
 */
export async function takeDeadUpload(
  db: Database,
  lease: string,
  { providerId, except }: { providerId?: string | undefined; except: readonly string[] },
): Promise<UploadRecord | null> {
  const row = await db
    .updateTable('uploads')
    .set({ lease_id: lease, lease_until: leaseEnd, lease_wanted: false })
    .where('id', '=', ({ selectFrom }) =>
      selectFrom('uploads as u')
        .select('u.id')
        .where(isUnleased)
        .where(sql<SqlBool>`u.id <> all(${except})`)
        .where(providerId === undefined ? isDead : sql<SqlBool>`u.provider_id = ${providerId}`)
        .orderBy('u.expires_at')
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returningAll()
    .executeTakeFirst()
  return row ? toUpload(row) : null
}
