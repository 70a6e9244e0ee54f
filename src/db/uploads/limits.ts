/** The limits for all unfinished uploads of one member together, and for those that come through one share link. */
import { type SqlBool, sql } from 'kysely'
import type { Database } from '../client.ts'
import { noBlock, type UploadRecord } from './record.ts'

export interface UploadLimits {
  uploads: number
  /** Bytes in `upload_chunks` and in `upload_part_chunks`. */
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

/** Counts the resumable uploads of a member, or those of a share link, and their bytes in the database. */
export async function countUploads(
  db: Database,
  owner: Pick<UploadRecord, 'workspaceId' | 'userId' | 'credentialKind' | 'credentialId'>,
): Promise<{ count: number; bytes: number }> {
  const waiting = sql`(select sum(p.size) from upload_parts p where p.upload_id = uploads.id and p.content is not null)`
  const { count, bytes } = await db
    .selectFrom('uploads')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .select(sql<string | null>`sum(received - appended + coalesce(${waiting}, 0))`.as('bytes'))
    .where('workspace_id', '=', owner.workspaceId)
    .where('user_id', '=', owner.userId)
    .where(isOf(owner))
    .where('stored_path', 'is', null)
    .where('block', '>', String(noBlock))
    .executeTakeFirstOrThrow()
  return { count: Number(count), bytes: Number(bytes ?? 0) }
}

/** Strangers with a share link cannot use up the limit of the member who made it. */
function isOf({ credentialKind, credentialId }: Pick<UploadRecord, 'credentialKind' | 'credentialId'>) {
  return credentialKind === 'SHARE'
    ? sql<SqlBool>`credential_kind = 'SHARE' and credential_id = ${credentialId}`
    : sql<SqlBool>`credential_kind <> 'SHARE'`
}
