/** Uploads that no client can resume. The sweep frees their storage at a back end. */
import { type SqlBool, sql } from 'kysely'
import type { Database } from '../client.ts'
import { isUnleased, leaseEnd, toUpload, type UploadRecord } from './record.ts'

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
