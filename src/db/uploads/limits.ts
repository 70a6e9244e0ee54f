/** The limits for all unfinished uploads of one member together, and for those that come through one share link. */
import { type SqlBool, sql } from 'kysely'
import type { Database } from '../client.ts'
import { lockMember } from '../members.ts'
import { noBlock, type UploadRecord } from './record.ts'

export interface UploadLimits {
  uploads: number
  /** Bytes in `upload_chunks` and in `upload_part_chunks`. */
  bytes: number
}

/** The member or the share link whose limits count for an upload. */
export type UploadOwner = Pick<UploadRecord, 'workspaceId' | 'userId' | 'credentialKind' | 'credentialId'>

/** The write was rejected because it would exceed this limit. */
export class LimitExceeded extends Error {
  readonly limit: keyof UploadLimits

  constructor(limit: keyof UploadLimits) {
    super(`The member has reached the limit of ${limit}`)
    this.limit = limit
  }
}

/** Counts the resumable uploads of a member, or those of a share link, and their bytes in the database. */
export async function countUploads(db: Database, owner: UploadOwner): Promise<{ count: number; bytes: number }> {
  const { count, bytes } = await db
    .selectFrom('uploads')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .select(sql<string | null>`sum(received - appended + waiting)`.as('bytes'))
    .where('workspace_id', '=', owner.workspaceId)
    .where('user_id', '=', owner.userId)
    .where(isOf(owner))
    .where('stored_path', 'is', null)
    .where('block', '>', String(noBlock))
    .executeTakeFirstOrThrow()
  return { count: Number(count), bytes: Number(bytes ?? 0) }
}

/**
 * Checks the limit for bytes after some were inserted. Call this last in the transaction, so that uploads of one member block each
 * other as briefly as possible. @throws LimitExceeded
 */
export async function requireBytesFit(db: Database, owner: UploadOwner, limits: UploadLimits): Promise<void> {
  await lockMember(db, owner)
  const { bytes } = await countUploads(db, owner)
  if (bytes > limits.bytes) throw new LimitExceeded('bytes')
}

/** Strangers with a share link cannot use up the limit of the member who made it. */
function isOf({ credentialKind, credentialId }: UploadOwner) {
  return credentialKind === 'SHARE'
    ? sql<SqlBool>`credential_kind = 'SHARE' and credential_id = ${credentialId}`
    : sql<SqlBool>`credential_kind <> 'SHARE'`
}
