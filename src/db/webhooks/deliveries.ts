/** Deliveries as people see them. */
import { type SqlBool, sql } from 'kysely'
import type { Change, Database } from '../client.ts'
import type { OutboxEvent } from '../schema.ts'
import { type DeliveryRecord, toDelivery } from './record.ts'

export type DeliveryState = DeliveryRecord['state']

/** Returns the newest deliveries first. */
export async function listDeliveries(
  db: Database,
  webhookId: string,
  { state, limit, before }: { state: DeliveryState | null; limit: number; before: string | null },
): Promise<DeliveryRecord[]> {
  let query = db.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', webhookId)
  if (state !== null) query = query.where('state', '=', state)
  if (before !== null) query = query.where('id', '<', before)
  const rows = await query.orderBy('id', 'desc').limit(limit).execute()
  return rows.map(toDelivery)
}

/** Adds a test to the outbox. */
export async function insertTest(
  db: Change,
  { webhookId, id, event }: { webhookId: string; id: string; event: OutboxEvent },
): Promise<DeliveryRecord> {
  const row = await db
    .insertInto('webhook_deliveries')
    .values({ webhook_id: webhookId, id, action: 'TEST', event: JSON.stringify(event) })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toDelivery(row)
}

/**
 * Sends deliveries again that have ended: the given ones, or up to `limit` that have failed, the oldest first. Returns their
 * number.
 */
export async function replay(
  db: Change,
  webhookId: string,
  { ids, limit }: { ids: readonly string[] | null; limit: number },
): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('webhook_deliveries')
    .set({
      state: 'PENDING',
      attempts: 0,
      next_attempt_at: sql<Date>`now()`,
      claim_id: null,
      status: null,
      error: null,
      ended_at: null,
    })
    .where('webhook_id', '=', webhookId)
    .where('id', 'in', found => {
      const ended = found
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('webhook_id', '=', webhookId)
        .where('ended_at', 'is not', null)
      const chosen = ids ? ended.where('id', 'in', ids) : ended.where('state', '=', 'FAILED')
      return chosen.orderBy('id').limit(limit)
    })
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Returns whether more than `limit` deliveries are pending. */
export async function hasMorePending(db: Database, webhookId: string, limit: number): Promise<boolean> {
  const rows = await db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .where('ended_at', 'is', null)
    .offset(limit)
    .limit(1)
    .execute()
  return rows.length > 0
}

/** Deletes up to `limit` deliveries that ended more than `days` ago, and returns their number. */
export async function deleteDeliveriesEndedBefore(db: Database, days: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from webhook_deliveries where (webhook_id, id) in (
      select webhook_id, id from webhook_deliveries
      where ${sql<SqlBool>`ended_at < now() - make_interval(days => ${days})`}
      order by ended_at limit ${limit} for update skip locked
    )`.execute(db)
  return Number(numAffectedRows)
}
