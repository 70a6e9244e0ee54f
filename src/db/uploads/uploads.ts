/** Uploads over several requests, and writes in one request that use storage at a back end. */
import { type SqlBool, sql } from 'kysely'
import { type Database, isUniqueViolation } from '../client.ts'
import {
  isUnleased,
  leaseEnd,
  noBlock,
  requireRoomForOne,
  targetColumns,
  toUpload,
  type UploadLimits,
  type UploadRecord,
  type UploadTarget,
  unfinishedExpiry,
} from './record.ts'

export type NewUpload = UploadTarget &
  Pick<
    UploadRecord,
    | 'conflict'
    | 'mimeType'
    | 'metadata'
    | 'size'
    | 'block'
    | 'isMultipart'
    | 'hasNativeParts'
    | 'isScanned'
    | 'modifiedAt'
  >

/** Minutes without progress for which an upload reserves its path. */
const reservationMinutes = 10

/** Matches an empty upload that the same credential created with the same metadata: the client seems to have lost the response. */
function isLostCreation({ credentialKind, credentialId, metadata, size }: NewUpload) {
  return sql<SqlBool>`(credential_kind = ${credentialKind} and credential_id = ${credentialId} and metadata = ${metadata}
    and size is not distinct from ${size}::bigint and received = 0 and not finishing and ${isUnleased})`
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
      await requireRoomForOne(tx, values, limits)
      const row = await tx
        .insertInto('uploads')
        .values({
          ...targetColumns(values),
          conflict: values.conflict,
          reserves,
          mime_type: values.mimeType,
          metadata: values.metadata,
          size: values.size,
          block: values.block,
          is_multipart: values.isMultipart,
          has_native_parts: values.hasNativeParts,
          is_scanned: values.isScanned,
          modified_at: values.modifiedAt,
          expires_at: unfinishedExpiry(sql`${values.credentialKind}`, sql`0`),
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

/** Finds the unfinished upload that reserves a path. */
export async function findReserving(
  db: Database,
  { providerId, path }: Pick<UploadRecord, 'providerId' | 'path'>,
): Promise<UploadRecord | null> {
  const row = await db
    .selectFrom('uploads')
    .selectAll()
    .where('provider_id', '=', providerId)
    .where(sql<SqlBool>`md5(path) = md5(${path})`)
    .where('reserves', '=', true)
    .executeTakeFirst()
  return row ? toUpload(row) : null
}

/** Finds an upload of this credential that has not expired. */
export async function findUpload(
  db: Database,
  id: string,
  wanted: Pick<UploadRecord, 'credentialKind' | 'credentialId' | 'isMultipart'>,
): Promise<UploadRecord | null> {
  const row = await db
    .selectFrom('uploads')
    .selectAll()
    .where('id', '=', id)
    .where('credential_kind', '=', wanted.credentialKind)
    .where('credential_id', '=', wanted.credentialId)
    .where('is_multipart', '=', wanted.isMultipart)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return row ? toUpload(row) : null
}

/** Finds an upload of an empty file by the same credential with the same metadata whose completion is unknown. */
export async function findUnfinishedEmptyUpload(
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
    .where('is_multipart', '=', false)
    .where('size', '=', '0')
    .where('finishing', '=', true)
    .where('stored_path', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .limit(1)
    .executeTakeFirst()
  return row ? toUpload(row) : null
}

// Writes in one request, recorded so that the sweep can free what a killed server left at a back end.

/** Minutes without renewal after which a write in one request counts as orphaned by a killed server. */
const orphanedMinutes = 10
const orphanedAt = sql<Date>`now() + make_interval(mins => ${orphanedMinutes})`

/**
 * Records the storage that a write in one request uses at a back end. The row cannot be resumed, and expires soon
 * without renewal.
 */
export async function insertUnfinishedWrite(
  db: Database,
  values: UploadTarget & Pick<UploadRecord, 'sealedState'>,
  lease: string,
): Promise<void> {
  await db
    .insertInto('uploads')
    .values({
      ...targetColumns(values),
      // The write itself ensures that the path is free.
      conflict: 'REPLACE',
      reserves: false,
      metadata: '',
      block: noBlock,
      state: values.sealedState,
      expires_at: orphanedAt,
      lease_id: lease,
      lease_until: orphanedAt,
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
    .set({ expires_at: orphanedAt, lease_until: orphanedAt, ...(sealedState && { state: sealedState }) })
    .where('id', '=', id)
    .where('lease_id', '=', lease)
    .execute()
}
