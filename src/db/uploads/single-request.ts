/** Writes in one request, recorded so that the sweep can free what a killed server left at a back end. */
import { sql } from 'kysely'
import type { Database } from '../client.ts'
import { noBlock, targetColumns, type UploadRecord, type UploadTarget } from './record.ts'

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
