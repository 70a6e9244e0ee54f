/** Uploads that come in several requests, with the lease that lets one request at a time work on one. */
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
  /** Bytes; null while the client has not told. */
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

/** Seconds that a lease holds without being renewed: so long nobody can go on after the server of its holder was killed. */
const leaseSeconds = 12
/** Hours after the last byte. */
const lifetimeHours = 24
/** Minutes for which an upload that stands still keeps its name from others. */
const reservationMinutes = 10

/** What tells writes in one request from uploads that can be resumed, none of which has so short a block. */
const noBlock = 1

/** Minutes without a sign of life after which a write in one request counts as that of a killed server. */
const unfinishedMinutes = 10

/** Days for which a back end that does not answer is asked to free what an expired upload holds. */
const givingUpDays = 7

/** Of a row: what is held while it is read. */
const chunkBytes = 1024 * 1024

const leaseEnd = sql<Date>`now() + make_interval(secs => ${leaseSeconds})`
const nobodyAtWork = sql<SqlBool>`(lease_id is null or lease_until < now())`
const unfinishedEnd = sql<Date>`now() + make_interval(mins => ${unfinishedMinutes})`
const expiry = sql<Date>`now() + make_interval(hours => ${lifetimeHours})`

/** One that a credential announced in just these words and sent nothing to: it seems not to have had the answer. */
function unheard({ credentialKind, credentialId, metadata, size }: NewUpload) {
  return sql<SqlBool>`(credential_kind = ${credentialKind} and credential_id = ${credentialId} and metadata = ${metadata}
    and size is not distinct from ${size}::bigint and received = 0 and not finishing and ${nobodyAtWork})`
}

/** What the unfinished uploads of one member may be together. */
export interface UploadLimits {
  uploads: number
  /** Held in `upload_chunks`. */
  bytes: number
}

/** Nothing was written, as it would exceed this limit. */
export class LimitExceeded extends Error {
  readonly limit: keyof UploadLimits

  constructor(limit: keyof UploadLimits) {
    super(`The member has reached the limit of ${limit}`)
    this.limit = limit
  }
}

/** Null where another upload that is under way has the name. @throws LimitExceeded */
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
        or([sql<SqlBool>`touched_at < now() - make_interval(mins => ${reservationMinutes})`, unheard(values)]),
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

/** What a write in one request holds at a back end: nobody goes on with it, and without being renewed it soon expires. */
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
      // The write has its own way to take the name.
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

/** @param sealedState in place of the one that is there */
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

/** How many uploads of a user can be resumed, and how many of their bytes are kept in the database. */
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

/** Of this credential, if it has not expired. */
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

/** The upload of an empty file that a credential has announced in just these words, where nobody saw its end. */
export async function findFinishingEmpty(
  db: Database,
  announced: Pick<UploadRecord, 'providerId' | 'metadata' | 'credentialKind' | 'credentialId'>,
): Promise<UploadRecord | null> {
  const row = await db
    .selectFrom('uploads')
    .selectAll()
    .where('credential_kind', '=', announced.credentialKind)
    .where('credential_id', '=', announced.credentialId)
    .where('provider_id', '=', announced.providerId)
    .where('metadata', '=', announced.metadata)
    .where('size', '=', '0')
    .where('finishing', '=', true)
    .where('stored_path', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .limit(1)
    .executeTakeFirst()
  return row ? toUpload(row) : null
}

/** Null where another has the lease, who is told that it is wanted, or where the upload is gone. */
export async function takeLease(db: Database, id: string, lease: string): Promise<UploadRecord | null> {
  const row = await db
    .updateTable('uploads')
    .set({ lease_id: lease, lease_until: leaseEnd, lease_wanted: false })
    .where('id', '=', id)
    .where(nobodyAtWork)
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
 * Tells all who work on resumable uploads to a provider that their leases are wanted; resolves with the ids of all
 * uploads but `except`, whether or not anybody works on them.
 * A write in one request ends, and frees what it holds, as soon as its grant no longer holds.
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

/** Whether somebody waits for it; null where it is lost. */
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
  /** More bytes for `upload_chunks`; those before `appended` go. */
  chunk?: { position: number; bytes: Buffer; limits: UploadLimits }
}

/** Keeps what was done in one step; null where the lease is lost, and then nothing. @throws LimitExceeded */
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
      // Last, so that uploads of one member wait for one another only while they are counted.
      await lockMember(tx, upload)
      const { bytes } = await countUploads(tx, upload)
      if (bytes > chunk.limits.bytes) throw new LimitExceeded('bytes')
    }
    return upload
  })
}

/** The bytes of a file that are kept here, from `position` on, one row after the other. */
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

/** Under its lease only. */
export async function deleteUpload(db: Database, id: string, lease: string): Promise<void> {
  await db.deleteFrom('uploads').where('id', '=', id).where('lease_id', '=', lease).execute()
}

/** The same of one that expired a week ago, by the clock that expiries are told by; false where it stays. */
export async function deleteLongExpired(db: Database, id: string, lease: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('uploads')
    .where('id', '=', id)
    .where('lease_id', '=', lease)
    .where('expires_at', '<', sql<Date>`now() - make_interval(days => ${givingUpDays})`)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Expired, or unfinished with a credential that is no longer good. */
const isDead = sql<SqlBool>`(
  u.expires_at <= now()
  or (u.stored_path is null and u.credential_kind = 'SESSION' and not exists (
    select from sessions s where s.id = u.credential_id and s.revoked_at is null and s.expires_at > now()))
  or (u.stored_path is null and u.credential_kind = 'API_KEY' and not exists (
    select from api_keys k where k.id = u.credential_id and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > now())))
)`

/**
 * Takes the lease of one that nobody can go on with, or of any of a provider, unless somebody is at work on it. Several
 * servers at once get different ones.
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
        .where(nobodyAtWork)
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
