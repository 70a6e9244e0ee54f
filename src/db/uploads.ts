/** Uploads over several requests. A lease lets one request at a time write to an upload. */
import { type Selectable, type SqlBool, sql } from 'kysely'
import { type Database, isUniqueViolation } from './client.ts'
import { lockMember } from './members.ts'
import type { Schema } from './schema.ts'

export interface UploadRecord {
  id: string
  workspaceId: string
  userId: string
  credentialKind: 'SESSION' | 'API_KEY'
  credentialId: string
  providerId: string
  /** Without a leading `/`. */
  path: string
  conflict: 'FAIL' | 'REPLACE' | 'RENAME'
  mimeType: string | null
  metadata: string
  /** Bytes; null until the client sends it. */
  size: number | null
  received: number
  appended: number
  block: number
  sealedState: Buffer | null
  finishing: boolean
  storedPath: string | null
  createdAt: Date
  expiresAt: Date
}

export type NewUpload = Pick<
  UploadRecord,
  | 'id'
  | 'workspaceId'
  | 'userId'
  | 'credentialKind'
  | 'credentialId'
  | 'providerId'
  | 'path'
  | 'conflict'
  | 'mimeType'
  | 'metadata'
  | 'size'
  | 'block'
>

/** Seconds until a lease expires without renewal. After the server of its holder is killed, the upload is locked this long. */
const leaseSeconds = 12
/** Hours from the last byte to the expiry. */
const lifetimeHours = 24
/** Minutes without progress for which an upload reserves its path. */
const reservationMinutes = 10

/** Marks writes in one request. Resumable uploads have longer blocks. */
const noBlock = 1

/** Minutes without renewal after which a write in one request counts as orphaned by a killed server. */
const unfinishedMinutes = 10

/** Days for which the sweep retries to free what an expired upload holds at its back end. */
const sweepRetryDays = 7

/** Bytes per row, which bounds the memory of a read. */
const chunkBytes = 1024 * 1024

const leaseEnd = sql<Date>`now() + make_interval(secs => ${leaseSeconds})`
const isUnleased = sql<SqlBool>`(lease_id is null or lease_until < now())`
const unfinishedEnd = sql<Date>`now() + make_interval(mins => ${unfinishedMinutes})`
const expiry = sql<Date>`now() + make_interval(hours => ${lifetimeHours})`

/** Matches an empty upload that the same credential created with the same metadata: the client seems to have lost the response. */
function isLostCreation({ credentialKind, credentialId, metadata, size }: NewUpload) {
  return sql<SqlBool>`(credential_kind = ${credentialKind} and credential_id = ${credentialId} and metadata = ${metadata}
    and size is not distinct from ${size}::bigint and received = 0 and not finishing and ${isUnleased})`
}

/** The limits for all unfinished uploads of one member together. */
export interface UploadLimits {
  uploads: number
  /** Bytes in `upload_chunks`. */
  bytes: number
}

/** The write was rejected because it would exceed this limit. */
export class LimitExceeded extends Error {
  readonly limit: keyof UploadLimits

  constructor(limit: keyof UploadLimits) {
    super(`The member has reached the limit of ${limit}`)
    this.limit = limit
  }
}

/** Returns null if another active upload has reserved the path. @throws LimitExceeded */
export async function insertUpload(
  db: Database,
  values: NewUpload,
  lease: string,
  limits: UploadLimits,
): Promise<UploadRecord | null> {
  const reserves = values.conflict !== 'REPLACE'
  if (reserves) {
    await db
      .updateTable('uploads')
      .set({ reserves: false })
      .where('provider_id', '=', values.providerId)
      .where(sql<SqlBool>`md5(path) = md5(${values.path})`)
      .where('reserves', '=', true)
      .where(({ or }) =>
        or([sql<SqlBool>`touched_at < now() - make_interval(mins => ${reservationMinutes})`, isLostCreation(values)]),
      )
      .execute()
  }
  try {
    return await db.transaction().execute(async tx => {
      await lockMember(tx, values)
      const { count, bytes } = await countUploads(tx, values)
      if (count >= limits.uploads) throw new LimitExceeded('uploads')
      if (bytes >= limits.bytes) throw new LimitExceeded('bytes')
      const row = await tx
        .insertInto('uploads')
        .values({
          id: values.id,
          workspace_id: values.workspaceId,
          user_id: values.userId,
          credential_kind: values.credentialKind,
          credential_id: values.credentialId,
          provider_id: values.providerId,
          path: values.path,
          conflict: values.conflict,
          reserves,
          mime_type: values.mimeType,
          metadata: values.metadata,
          size: values.size,
          block: values.block,
          expires_at: expiry,
          lease_id: lease,
          lease_until: leaseEnd,
        })
        .returningAll()
        .executeTakeFirstOrThrow()
      return toUpload(row)
    })
  } catch (error) {
    if (isUniqueViolation(error)) return null
    throw error
  }
}

/** Records what a write in one request holds at a back end. The row cannot be resumed, and expires soon without renewal. */
export async function insertUnfinishedWrite(
  db: Database,
  values: Pick<
    UploadRecord,
    'id' | 'workspaceId' | 'userId' | 'credentialKind' | 'credentialId' | 'providerId' | 'path' | 'sealedState'
  >,
  lease: string,
): Promise<void> {
  await db
    .insertInto('uploads')
    .values({
      id: values.id,
      workspace_id: values.workspaceId,
      user_id: values.userId,
      credential_kind: values.credentialKind,
      credential_id: values.credentialId,
      provider_id: values.providerId,
      path: values.path,
      // The write itself ensures that the path is free.
      conflict: 'REPLACE',
      reserves: false,
      metadata: '',
      block: noBlock,
      state: values.sealedState,
      expires_at: unfinishedEnd,
      lease_id: lease,
      lease_until: unfinishedEnd,
    })
    .execute()
}

/** @param sealedState replaces the stored one */
export async function renewUnfinishedWrite(
  db: Database,
  id: string,
  lease: string,
  sealedState?: Buffer,
): Promise<void> {
  await db
    .updateTable('uploads')
    .set({ expires_at: unfinishedEnd, lease_until: unfinishedEnd, ...(sealedState && { state: sealedState }) })
    .where('id', '=', id)
    .where('lease_id', '=', lease)
    .execute()
}

/** Counts a user's resumable uploads, and their bytes in the database. */
async function countUploads(
  db: Database,
  owner: Pick<UploadRecord, 'workspaceId' | 'userId'>,
): Promise<{ count: number; bytes: number }> {
  const { count, bytes } = await db
    .selectFrom('uploads')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .select(sql<string | null>`sum(received - appended)`.as('bytes'))
    .where('workspace_id', '=', owner.workspaceId)
    .where('user_id', '=', owner.userId)
    .where('stored_path', 'is', null)
    .where('block', '>', String(noBlock))
    .executeTakeFirstOrThrow()
  return { count: Number(count), bytes: Number(bytes ?? 0) }
}

/** Finds an upload of this credential that has not expired. */
export async function findUpload(
  db: Database,
  id: string,
  credential: Pick<UploadRecord, 'credentialKind' | 'credentialId'>,
): Promise<UploadRecord | null> {
  const row = await db
    .selectFrom('uploads')
    .selectAll()
    .where('id', '=', id)
    .where('credential_kind', '=', credential.credentialKind)
    .where('credential_id', '=', credential.credentialId)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return row ? toUpload(row) : null
}

/** Finds an upload of an empty file by the same credential with the same metadata whose completion is unknown. */
export async function findFinishingEmpty(
  db: Database,
  created: Pick<UploadRecord, 'providerId' | 'metadata' | 'credentialKind' | 'credentialId'>,
): Promise<UploadRecord | null> {
  const row = await db
    .selectFrom('uploads')
    .selectAll()
    .where('credential_kind', '=', created.credentialKind)
    .where('credential_id', '=', created.credentialId)
    .where('provider_id', '=', created.providerId)
    .where('metadata', '=', created.metadata)
    .where('size', '=', '0')
    .where('finishing', '=', true)
    .where('stored_path', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .limit(1)
    .executeTakeFirst()
  return row ? toUpload(row) : null
}

/** Returns null if the upload is missing, or if another request has the lease, which is then marked as wanted. */
export async function takeLease(db: Database, id: string, lease: string): Promise<UploadRecord | null> {
  const row = await db
    .updateTable('uploads')
    .set({ lease_id: lease, lease_until: leaseEnd, lease_wanted: false })
    .where('id', '=', id)
    .where(isUnleased)
    .returningAll()
    .executeTakeFirst()
  if (row) return toUpload(row)
  await db
    .updateTable('uploads')
    .set({ lease_wanted: true })
    .where('id', '=', id)
    .where('lease_id', 'is not', null)
    .where('lease_wanted', '=', false)
    .execute()
  return null
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
    .set({ lease_until: leaseEnd })
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

export type Progress = Partial<
  Pick<UploadRecord, 'size' | 'received' | 'appended' | 'sealedState' | 'finishing' | 'storedPath'>
> & {
  /** Bytes to add to `upload_chunks`. Those before `appended` are deleted. */
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
        expires_at: expiry,
        ...(values.size != null && { size: values.size }),
        ...(values.received !== undefined && { received: values.received }),
        ...(values.appended !== undefined && { appended: values.appended }),
        ...(values.sealedState !== undefined && { state: values.sealedState }),
        ...(values.finishing !== undefined && { finishing: values.finishing }),
        ...(values.storedPath != null && { stored_path: values.storedPath, reserves: false }),
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
    if (chunk) {
      // Counted last, so that uploads of one member block each other as briefly as possible.
      await lockMember(tx, upload)
      const { bytes } = await countUploads(tx, upload)
      if (bytes > chunk.limits.bytes) throw new LimitExceeded('bytes')
    }
    return upload
  })
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

/** Deletes an upload, only with its lease. */
export async function deleteUpload(db: Database, id: string, lease: string): Promise<void> {
  await db.deleteFrom('uploads').where('id', '=', id).where('lease_id', '=', lease).execute()
}

/** Deletes an upload that expired more than a week ago, by the clock of the database. Returns false if it is newer. */
export async function deleteLongExpired(db: Database, id: string, lease: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('uploads')
    .where('id', '=', id)
    .where('lease_id', '=', lease)
    .where('expires_at', '<', sql<Date>`now() - make_interval(days => ${sweepRetryDays})`)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Matches uploads that have expired, and unfinished ones whose credential has ended. */
const isDead = sql<SqlBool>`(
  u.expires_at <= now()
  or (u.stored_path is null and u.credential_kind = 'SESSION' and not exists (
    select from sessions s where s.id = u.credential_id and s.revoked_at is null and s.expires_at > now()))
  or (u.stored_path is null and u.credential_kind = 'API_KEY' and not exists (
    select from api_keys k where k.id = u.credential_id and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > now())))
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

function toUpload(row: Selectable<Schema['uploads']>): UploadRecord {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    userId: row.user_id,
    credentialKind: row.credential_kind,
    credentialId: row.credential_id,
    providerId: row.provider_id,
    path: row.path,
    conflict: row.conflict,
    mimeType: row.mime_type,
    metadata: row.metadata,
    size: row.size === null ? null : Number(row.size),
    received: Number(row.received),
    appended: Number(row.appended),
    block: Number(row.block),
    sealedState: row.state,
    finishing: row.finishing,
    storedPath: row.stored_path,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}
