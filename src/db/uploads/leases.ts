/**
 * A lease lets one request at a time write to an upload. Its holder stores the progress, and the bytes that the back end
 * does not have yet, or deletes the upload. The sweep takes the leases of uploads that no client can resume.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { claimRows, dueRows } from '../claims.ts'
import type { Database } from '../client.ts'
import {
  expiry,
  expiryWhileActive,
  isUnleased,
  leaseEnd,
  noBlock,
  requireBytesFit,
  toUpload,
  type UploadLimits,
  type UploadRecord,
  unfinishedExpiry,
} from './record.ts'

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

/** Bytes per row, which bounds the memory of a read. */
const chunkBytes = 1024 * 1024

export type Progress = Partial<
  Pick<
    UploadRecord,
    | 'size'
    | 'received'
    | 'appended'
    | 'appendedParts'
    | 'conflict'
    | 'sealedState'
    | 'finishing'
    | 'unscanned'
    | 'storedPath'
  >
> & {
  /** Bytes to add to `upload_chunks`. Chunks before `appended` are deleted. */
  chunk?: { position: number; bytes: Buffer; limits: UploadLimits }
}

/** Stores the progress of one step. Returns null and stores nothing if the lease is lost. @throws LimitExceeded */
export async function saveProgress(
  db: Database,
  id: string,
  lease: string,
  { chunk, ...values }: Progress,
): Promise<UploadRecord | null> {
  return await db.transaction().execute(async tx => {
    const row = await tx
      .updateTable('uploads')
      .set({
        lease_until: leaseEnd,
        touched_at: sql<Date>`now()`,
        expires_at: expiryOf(values),
        ...(values.size != null && { size: values.size }),
        ...(values.received !== undefined && { received: values.received }),
        ...(values.appended !== undefined && { appended: values.appended }),
        ...(values.appendedParts !== undefined && { appended_parts: values.appendedParts }),
        ...(values.conflict !== undefined && { conflict: values.conflict }),
        ...(values.sealedState !== undefined && { state: values.sealedState }),
        ...(values.finishing !== undefined && { finishing: values.finishing }),
        ...(values.unscanned !== undefined && { unscanned: values.unscanned }),
        ...(values.storedPath != null && { stored_path: values.storedPath, reserves: false, waiting: 0 }),
      })
      .where('id', '=', id)
      .where('lease_id', '=', lease)
      .returningAll()
      .executeTakeFirst()
    if (!row) return null
    for (let start = 0; chunk && start < chunk.bytes.length; start += chunkBytes) {
      const bytes = chunk.bytes.subarray(start, start + chunkBytes)
      await tx
        .insertInto('upload_chunks')
        .values({ upload_id: id, position: chunk.position + start, bytes })
        .execute()
    }
    if (values.appended !== undefined) {
      await tx
        .deleteFrom('upload_chunks')
        .where('upload_id', '=', id)
        .where('position', '<', String(values.appended))
        .execute()
    }
    const upload = toUpload(row)
    if (upload.isMultipart && upload.storedPath !== null) {
      // A killed server, or a request that still sends a part, may have left chunks. `insertPartChunk` stores no more.
      await tx.deleteFrom('upload_part_chunks').where('upload_id', '=', id).execute()
    }
    if (chunk) await requireBytesFit(tx, upload, chunk.limits)
    return upload
  })
}

/** A complete upload keeps its row for a day, so that a client that lost the response finds the path. */
function expiryOf({ received, storedPath }: Progress) {
  if (storedPath != null) return expiry
  const bytes = received === undefined ? sql`received` : sql`${received}::bigint`
  return unfinishedExpiry(sql`credential_kind`, bytes)
}

/** Reads the stored bytes of an upload from `position` on, row by row. */
export async function* readChunks(db: Database, id: string, position: number): AsyncGenerator<Buffer> {
  let next = position
  for (;;) {
    const row = await db
      .selectFrom('upload_chunks')
      .select(['position', 'bytes'])
      .where('upload_id', '=', id)
      .where('position', '>=', String(next))
      .orderBy('position')
      .limit(1)
      .executeTakeFirst()
    if (!row) return
    yield row.bytes
    next = Number(row.position) + row.bytes.length
  }
}

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
    ), doubtful as (
      -- A server finds out whether the file of an upload that was finishing is there.
      update quota_changes set upload_id = null from gone where upload_id = gone.id and due_at is not null
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
    dueKeys: dueRows('uploads', { isDue, orderBy: sql`waiting.expires_at` }),
    set: sql`lease_id = ${lease}, lease_until = ${leaseEnd}, lease_wanted = false`,
  })
  return row ? toUpload(row) : null
}
