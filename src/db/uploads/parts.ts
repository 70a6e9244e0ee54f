/** The parts of an upload that come in any order, and the bytes of those that wait for their turn. */
import { type Selectable, sql } from 'kysely'
import { type Database, isForeignKeyViolation } from '../client.ts'
import type { Schema } from '../schema.ts'
import { expiry, requireBytesFit, toUpload, type UploadLimits, type UploadOwner, type UploadRecord } from './record.ts'

/** The number of chunks of one DELETE, which locks the row of their upload: its lease must be renewed meanwhile. */
const chunksAtOnce = 64

export interface UploadPart {
  number: number
  /** Bytes. */
  size: number
  md5: Buffer
  /** Names the bytes that wait to be appended. Null when a server appends the part, or has appended it. */
  content: string | null
  /** Names the bytes at the back end, if it keeps the parts of the upload. */
  tag: string | null
  storedAt: Date
}

/** A part whose bytes wait here for their turn, or are being appended. */
export type WaitingPart = Omit<UploadPart, 'storedAt' | 'tag'>

function toPart(row: Selectable<Schema['upload_parts']>): UploadPart {
  const { number, size, md5, content, tag, stored_at: storedAt } = row
  return { number, size: Number(size), md5, content, tag, storedAt }
}

/** Lists parts in the order of their numbers. */
export async function listParts(
  db: Database,
  uploadId: string,
  { after = 0, limit = 10_000 }: { after?: number; limit?: number } = {},
): Promise<UploadPart[]> {
  const rows = await db
    .selectFrom('upload_parts')
    .selectAll()
    .where('upload_id', '=', uploadId)
    .where('number', '>', after)
    .orderBy('number')
    .limit(limit)
    .execute()
  return rows.map(toPart)
}

export async function findPart(db: Database, uploadId: string, number: number): Promise<UploadPart | null> {
  const [part] = await listParts(db, uploadId, { after: number - 1, limit: 1 })
  return part?.number === number ? part : null
}

/** Returns the sum of the sizes of the parts up to `number`. */
export async function bytesUpTo(db: Database, uploadId: string, number: number): Promise<number> {
  const { bytes } = await db
    .selectFrom('upload_parts')
    .select(sql<string | null>`sum(size)`.as('bytes'))
    .where('upload_id', '=', uploadId)
    .where('number', '<=', number)
    .executeTakeFirstOrThrow()
  return Number(bytes ?? 0)
}

/**
 * Adds bytes to the content of a part that waits or is still being received. They count at once, before a part has the content.
 * @returns false if the upload has ended
 * @throws LimitExceeded
 */
export async function insertPartChunk(
  db: Database,
  upload: UploadOwner & Pick<UploadRecord, 'id'>,
  chunk: { content: string; position: number; bytes: Buffer },
  limits: UploadLimits,
): Promise<boolean> {
  try {
    await db.transaction().execute(async tx => {
      await tx
        .insertInto('upload_part_chunks')
        .values({ upload_id: upload.id, ...chunk })
        .execute()
      const { numUpdatedRows } = await tx
        .updateTable('uploads')
        .set({ waiting: sql`waiting + ${chunk.bytes.length}` })
        .where('id', '=', upload.id)
        .where('stored_path', 'is', null)
        .executeTakeFirst()
      if (numUpdatedRows === 0n) throw new UploadEnded('The upload has ended')
      await requireBytesFit(tx, upload, limits)
    })
    return true
  } catch (error) {
    if (error instanceof UploadEnded || isForeignKeyViolation(error)) return false
    throw error
  }
}

class UploadEnded extends Error {}

/** Yields the bytes of a part from `position` on, row by row. */
export async function* readPartChunks(
  db: Database,
  { uploadId, content }: { uploadId: string; content: string },
  position: number,
): AsyncGenerator<Buffer, void, undefined> {
  let next = position
  for (;;) {
    const row = await db
      .selectFrom('upload_part_chunks')
      .select(['position', 'bytes'])
      .where('upload_id', '=', uploadId)
      .where('content', '=', content)
      .where(sql<string>`position + octet_length(bytes)`, '>', String(next))
      .orderBy('position')
      .limit(1)
      .executeTakeFirst()
    if (!row) return
    const start = Number(row.position)
    yield row.bytes.subarray(next - start)
    next = start + row.bytes.length
  }
}

/** Deletes the waiting bytes of a part, some chunks at a time. */
export async function deletePartChunks(db: Database, uploadId: string, content: string): Promise<void> {
  let deleted: number
  do deleted = await deleteSomeChunks(db, uploadId, content)
  while (deleted === chunksAtOnce)
}

/** Returns the number of chunks that were deleted: fewer than `chunksAtOnce` at the end. */
function deleteSomeChunks(db: Database, uploadId: string, content: string): Promise<number> {
  return db.transaction().execute(async tx => {
    // Completing an upload also locks its row before its chunks; the same order avoids deadlocks.
    await tx.selectFrom('uploads').select('id').where('id', '=', uploadId).forNoKeyUpdate().execute()
    const { count, bytes } = await tx
      .with('deleted', query =>
        query
          .deleteFrom('upload_part_chunks')
          .where('upload_id', '=', uploadId)
          .where('content', '=', content)
          .where('position', 'in', some =>
            some
              .selectFrom('upload_part_chunks')
              .select('position')
              .where('upload_id', '=', uploadId)
              .where('content', '=', content)
              .limit(chunksAtOnce),
          )
          .returning(sql<number>`octet_length(bytes)`.as('size')),
      )
      .selectFrom('deleted')
      .select(({ fn }) => [fn.countAll<string>().as('count'), sql<string>`coalesce(sum(size), 0)`.as('bytes')])
      .executeTakeFirstOrThrow()
    await tx
      .updateTable('uploads')
      .set({ waiting: sql`waiting - ${bytes}` })
      .where('id', '=', uploadId)
      .execute()
    return Number(count)
  })
}

/** Stores a part, or returns the part that has its number already. The upload then expires later. */
export async function insertPart(db: Database, uploadId: string, part: WaitingPart): Promise<UploadPart | null> {
  return await db.transaction().execute(async tx => {
    const { number, size, md5, content } = part
    const inserted = await tx
      .insertInto('upload_parts')
      .values({ upload_id: uploadId, number, size, md5, content })
      .onConflict(conflict => conflict.doNothing())
      .returning('number')
      .executeTakeFirst()
    if (!inserted) return await findPart(tx, uploadId, number)
    await tx.updateTable('uploads').set({ expires_at: expiry }).where('id', '=', uploadId).execute()
    return null
  })
}

/**
 * Records a part that the back end keeps, and replaces an earlier one with its number. The upload then expires later.
 * @returns the bytes of that one; null if there is no such upload any more
 */
export async function recordNativePart(
  db: Database,
  uploadId: string,
  part: Pick<UploadPart, 'number' | 'size' | 'md5'> & { tag: string },
): Promise<number | null> {
  return await db.transaction().execute(async tx => {
    // Parts that arrive together take turns, so that each counts the bytes of the others.
    const upload = await tx.selectFrom('uploads').select('id').where('id', '=', uploadId).forUpdate().executeTakeFirst()
    if (!upload) return null
    const replaced = await findPart(tx, uploadId, part.number)
    const values = { ...part, stored_at: sql<Date>`now()` }
    await tx
      .insertInto('upload_parts')
      .values({ ...values, upload_id: uploadId })
      .onConflict(conflict => conflict.columns(['upload_id', 'number']).doUpdateSet(values))
      .execute()
    const bytes = sql<number>`(select sum(size) from upload_parts where upload_id = ${uploadId})`
    await tx
      .updateTable('uploads')
      .set({ expires_at: expiry, received: bytes, appended: bytes })
      .where('id', '=', uploadId)
      .execute()
    return replaced?.size ?? 0
  })
}

/** Deletes a part that waits, with its bytes. */
export async function deletePart(
  db: Database,
  uploadId: string,
  { number, content }: Pick<UploadPart, 'number' | 'content'>,
): Promise<void> {
  if (content !== null) await deletePartChunks(db, uploadId, content)
  await db.deleteFrom('upload_parts').where('upload_id', '=', uploadId).where('number', '=', number).execute()
}

/** Deletes the bytes of a part that are appended now. */
export async function forgetContent(
  db: Database,
  uploadId: string,
  { number, content }: Pick<UploadPart, 'number' | 'content'>,
): Promise<void> {
  if (content === null) return
  await db
    .updateTable('upload_parts')
    .set({ content: null })
    .where('upload_id', '=', uploadId)
    .where('number', '=', number)
    .execute()
  await deletePartChunks(db, uploadId, content)
}

/** Lists the unfinished uploads in parts of a credential to a provider. Their number is limited. */
export async function listMultipartUploads(
  db: Database,
  owner: Pick<UploadRecord, 'providerId' | 'credentialKind' | 'credentialId'>,
): Promise<UploadRecord[]> {
  const rows = await db
    .selectFrom('uploads')
    .selectAll()
    .where('provider_id', '=', owner.providerId)
    .where('credential_kind', '=', owner.credentialKind)
    .where('credential_id', '=', owner.credentialId)
    .where('is_multipart', '=', true)
    .where('stored_path', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .execute()
  return rows.map(toUpload)
}
