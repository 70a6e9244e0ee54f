/**
 * Deletes uploads, and finds those that no client can resume, whose storage at a back end the sweep frees. The same
 * statement returns the bytes that a drop link has counted for a file that was not stored, so that they are returned
 * exactly once.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { claimRows, dueRows } from '../claims.ts'
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

/** Matches rows `waiting` of uploads that have expired, and unfinished ones whose credential has ended. */
const isAbandoned = sql<SqlBool>`(
  waiting.expires_at <= now()
  or (waiting.stored_path is null and waiting.credential_kind = 'SESSION' and not exists (
    select from sessions s where s.id = waiting.credential_id and s.revoked_at is null and s.expires_at > now()))
  or (waiting.stored_path is null and waiting.credential_kind = 'API_KEY' and not exists (
    select from api_keys k where k.id = waiting.credential_id and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > now())))
  or (waiting.stored_path is null and waiting.credential_kind = 'SHARE' and not exists (
    select from shares s where s.id = waiting.credential_id and s.revoked_at is null
      and (s.expires_at is null or s.expires_at > now())))
)`

/**
 * Takes the lease of an upload that no client can resume, or of any upload to `providerId`, unless a request has its lease.
 */
export async function claimAbandonedUpload(
  db: Database,
  lease: string,
  { providerId, except }: { providerId?: string | undefined; except: readonly string[] },
): Promise<UploadRecord | null> {
  const isDue = sql<SqlBool>`${isUnleased} and waiting.id <> all(${except})
    and ${providerId === undefined ? isAbandoned : sql`waiting.provider_id = ${providerId}`}`
  const [row] = await claimRows(db, 'uploads', {
    due: dueRows('uploads', { isDue, orderBy: sql`waiting.expires_at` }),
    set: sql`lease_id = ${lease}, lease_until = ${leaseEnd}, lease_wanted = false`,
  })
  return row ? toUpload(row) : null
}
