/** The limits for all unfinished uploads of one member together. */
import { sql } from 'kysely'
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

/** Counts the resumable uploads of a member, and their bytes in the database. */
export async function countUploads(
  db: Database,
  owner: Pick<UploadRecord, 'workspaceId' | 'userId'>,
): Promise<{ count: number; bytes: number }> {
  const waiting = sql`(select sum(p.size) from upload_parts p where p.upload_id = uploads.id and p.content is not null)`
  const { count, bytes } = await db
    .selectFrom('uploads')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .select(sql<string | null>`sum(received - appended + coalesce(${waiting}, 0))`.as('bytes'))
    .where('workspace_id', '=', owner.workspaceId)
    .where('user_id', '=', owner.userId)
    .where('stored_path', 'is', null)
    .where('block', '>', String(noBlock))
    .executeTakeFirstOrThrow()
  return { count: Number(count), bytes: Number(bytes ?? 0) }
}
