/**
 * The tables of uploads. New uploads enter (`uploads.ts`), and so do their parts (`parts.ts`) and their progress, which only the
 * holder of a lease stores (`leases.ts`). Uploads leave to those who continue them, and to the sweep.
 *
 * This file has the row of an upload, the limits for all unfinished uploads of one member, and what all queries of the table
 * share.
 */
import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import type { CredentialKind } from '../../auth/viewer.ts'
import { secondsFromNow } from '../claims.ts'
import type { Database } from '../client.ts'
import { lockMember } from '../members.ts'
import type { Schema, UnscannedReason } from '../schema.ts'

export interface UploadRecord {
  id: string
  workspaceId: string
  userId: string
  credentialKind: CredentialKind
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
  isMultipart: boolean
  /** The number of the last part whose bytes are counted in `received`. */
  appendedParts: number
  /** Whether the back end keeps the parts of the upload. */
  hasNativeParts: boolean
  /** Whether the back end keeps the file in the reserved folder until it was scanned. */
  isScanned: boolean
  /** Why the file is stored although nothing has scanned it; null if it was scanned, or nobody wanted it. */
  unscanned: UnscannedReason | null
  /** The modification time for the file; null is the time of its completion. */
  modifiedAt: Date | null
  finishing: boolean
  storedPath: string | null
  createdAt: Date
  /** The time of the last progress. */
  touchedAt: Date
  expiresAt: Date
}

/** Seconds until a lease expires without renewal. After the server of its holder is killed, the upload is locked this long. */
const leaseSeconds = 12
/** Hours from the last byte to the expiry. */
const lifetimeHours = 24
/** Bytes of an upload through a share link that has this lifetime. Strangers who send fewer block the link only for minutes. */
const lastingBytes = 1024 * 1024
/** Minutes from the last byte to the expiry of such an upload. */
const shortLifetimeMinutes = 10

/** The block size that marks a write in one request. Resumable uploads have longer blocks. */
export const noBlock = 1

export const leaseEnd = secondsFromNow(leaseSeconds)
export const isUnleased = sql<SqlBool>`(lease_id is null or lease_until < now())`
export const expiry = sql<Date>`now() + make_interval(hours => ${lifetimeHours})`
const shortExpiry = sql<Date>`now() + make_interval(mins => ${shortLifetimeMinutes})`

/**
 * Returns when an unfinished upload expires.
 * @param kind, received of the row: values, or columns
 */
export function unfinishedExpiry(kind: RawBuilder<unknown>, received: RawBuilder<unknown>): RawBuilder<Date> {
  return sql`case when ${kind} = 'SHARE' and ${received} < ${lastingBytes} then ${shortExpiry} else ${expiry} end`
}

/** Keeps an upload with a short lifetime while a request works on it. Most renewals leave the indexed column as it is. */
export const expiryWhileActive = sql<Date>`case
  when credential_kind = 'SHARE' and expires_at < now() + make_interval(mins => ${shortLifetimeMinutes}) / 2
  then ${shortExpiry} else expires_at end`

/** The columns that every row has: who writes which file. */
export type UploadTarget = Pick<
  UploadRecord,
  'id' | 'workspaceId' | 'userId' | 'credentialKind' | 'credentialId' | 'providerId' | 'path'
>

export function targetColumns(values: UploadTarget) {
  return {
    id: values.id,
    workspace_id: values.workspaceId,
    user_id: values.userId,
    credential_kind: values.credentialKind,
    credential_id: values.credentialId,
    provider_id: values.providerId,
    path: values.path,
  }
}

export function toUpload(row: Selectable<Schema['uploads']>): UploadRecord {
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
    isMultipart: row.is_multipart,
    appendedParts: row.appended_parts,
    hasNativeParts: row.has_native_parts,
    isScanned: row.is_scanned,
    unscanned: row.unscanned,
    modifiedAt: row.modified_at,
    finishing: row.finishing,
    storedPath: row.stored_path,
    createdAt: row.created_at,
    touchedAt: row.touched_at,
    expiresAt: row.expires_at,
  }
}

interface UploadLimit {
  uploads: number
  /** Bytes in `upload_chunks` and in `upload_part_chunks`. */
  bytes: number
}

export interface UploadLimits {
  /** For the member, and for each share link. */
  own: UploadLimit
  /** For all share links of the member together. */
  links: UploadLimit
}

/** The member or the share link whose limits count for an upload. */
export type UploadOwner = Pick<UploadRecord, 'workspaceId' | 'userId' | 'credentialKind' | 'credentialId'>

/** The write was rejected because it would exceed this limit. */
export class LimitExceeded extends Error {
  readonly limit: keyof UploadLimit
  readonly most: number

  constructor(limit: keyof UploadLimit, most: number) {
    super(`The limit of ${most} ${limit} is reached`)
    this.limit = limit
    this.most = most
  }
}

/**
 * Requires room for a new upload. Other transactions that count those of the member wait until this one ends.
 * @throws LimitExceeded
 */
export async function requireRoomForOne(db: Database, owner: UploadOwner, limits: UploadLimits): Promise<void> {
  await lockMember(db, owner)
  for (const { count, bytes, limit } of await countUploads(db, owner, limits)) {
    if (count >= limit.uploads) throw new LimitExceeded('uploads', limit.uploads)
    if (bytes >= limit.bytes) throw new LimitExceeded('bytes', limit.bytes)
  }
}

/**
 * Checks the limits for bytes after some were inserted. Call this last in the transaction, so that uploads of one member block each
 * other as briefly as possible. @throws LimitExceeded
 */
export async function requireBytesFit(db: Database, owner: UploadOwner, limits: UploadLimits): Promise<void> {
  await lockMember(db, owner)
  for (const { bytes, limit } of await countUploads(db, owner, limits)) {
    if (bytes > limit.bytes) throw new LimitExceeded('bytes', limit.bytes)
  }
}

/**
 * Counts the resumable uploads that have not expired, and the bytes in the database of these and of expired ones: those of the
 * member, or those of the share link and those of all share links of the member. Strangers with a link cannot use up the limit of the
 * member.
 */
async function countUploads(db: Database, owner: UploadOwner, { own, links }: UploadLimits) {
  const isShare = owner.credentialKind === 'SHARE'
  const ofAll = isShare ? sql<SqlBool>`credential_kind = 'SHARE'` : sql<SqlBool>`credential_kind <> 'SHARE'`
  const ofOne = isShare ? sql<SqlBool>`credential_id = ${owner.credentialId}` : sql<SqlBool>`true`
  const isCounted = sql<SqlBool>`expires_at > now()`
  const bytes = sql`received - appended + waiting`
  const row = await db
    .selectFrom('uploads')
    .select(sql<string>`count(*) filter (where ${isCounted} and ${ofOne})`.as('count'))
    .select(sql<string>`coalesce(sum(${bytes}) filter (where ${ofOne}), 0)`.as('bytes'))
    .select(sql<string>`count(*) filter (where ${isCounted})`.as('countOfAll'))
    .select(sql<string>`coalesce(sum(${bytes}), 0)`.as('bytesOfAll'))
    .where('workspace_id', '=', owner.workspaceId)
    .where('user_id', '=', owner.userId)
    .where(ofAll)
    .where('stored_path', 'is', null)
    .where('block', '>', String(noBlock))
    .executeTakeFirstOrThrow()
  const counted = [{ count: Number(row.count), bytes: Number(row.bytes), limit: own }]
  if (isShare) counted.push({ count: Number(row.countOfAll), bytes: Number(row.bytesOfAll), limit: links })
  return counted
}
