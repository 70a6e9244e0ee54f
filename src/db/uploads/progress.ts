/** The progress of an upload, and its bytes that the back end does not have yet. */
import { sql } from 'kysely'
import type { Database } from '../client.ts'
import { requireBytesFit, type UploadLimits } from './limits.ts'
import { expiry, leaseEnd, toUpload, type UploadRecord, unfinishedExpiry } from './record.ts'

/** Bytes per row, which bounds the memory of a read. */
const chunkBytes = 1024 * 1024

export type Progress = Partial<
  Pick<
    UploadRecord,
    'size' | 'received' | 'appended' | 'appendedParts' | 'conflict' | 'sealedState' | 'finishing' | 'storedPath'
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
