/** A lease lets one request at a time write to an upload. */
import { type SqlBool, sql } from 'kysely'
import type { Database } from '../client.ts'
import { expiryWhileActive, isUnleased, leaseEnd, noBlock, toUpload, type UploadRecord } from './record.ts'

/** Returns null if the upload is missing, or if another request has the lease, which is then marked as wanted. */
export async function takeLease(db: Database, id: string, lease: string): Promise<UploadRecord | null> {
  const free = await takeFreeLease(db, id, lease)
  if (free) return free
  await db
    .updateTable('uploads')
    .set({ lease_wanted: true })
    .where('id', '=', id)
    .where('lease_id', 'is not', null)
    .where('lease_wanted', '=', false)
    .execute()
  return null
}

/** Returns null if another request has the lease, which it keeps. */
export async function takeFreeLease(db: Database, id: string, lease: string): Promise<UploadRecord | null> {
  const row = await db
    .updateTable('uploads')
    .set({ lease_id: lease, lease_until: leaseEnd, lease_wanted: false })
    .where('id', '=', id)
    .where(isUnleased)
    .returningAll()
    .executeTakeFirst()
  return row ? toUpload(row) : null
}

/**
 * Marks the leases of all resumable uploads to a provider as wanted, and returns the ids of those uploads, without `except`.
 * Writes in one request are not included: they end with their grants.
 */
export async function wantLeases(db: Database, providerId: string, except: readonly string[]): Promise<string[]> {
  const rows = await db
    .updateTable('uploads')
    .set({ lease_wanted: true })
    .where('provider_id', '=', providerId)
    .where('block', '>', String(noBlock))
    .where(sql<SqlBool>`id <> all(${except})`)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Returns whether another request waits for the lease, or null if the lease is lost. */
export async function renewLease(db: Database, id: string, lease: string): Promise<boolean | null> {
  const row = await db
    .updateTable('uploads')
    .set({ lease_until: leaseEnd, expires_at: expiryWhileActive })
    .where('id', '=', id)
    .where('lease_id', '=', lease)
    .returning('lease_wanted')
    .executeTakeFirst()
  return row?.lease_wanted ?? null
}

export async function dropLease(db: Database, id: string, lease: string): Promise<void> {
  await db
    .updateTable('uploads')
    .set({ lease_id: null, lease_until: null, lease_wanted: false })
    .where('id', '=', id)
    .where('lease_id', '=', lease)
    .execute()
}
