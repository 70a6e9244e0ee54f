/** The limits for all unfinished uploads of one member together, and for those that come through share links. */
import { type SqlBool, sql } from 'kysely'
import type { Database } from '../client.ts'
import { lockMember } from '../members.ts'
import { noBlock, type UploadRecord } from './record.ts'

export interface UploadLimit {
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
