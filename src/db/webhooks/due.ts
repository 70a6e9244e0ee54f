/** A claim lets one server at a time attempt a delivery. It ends by itself if that server fails. */
import { type SqlBool, sql } from 'kysely'
import type { Database } from '../client.ts'
import { type DeliveryRecord, toDelivery, toWebhook, type WebhookRecord } from './record.ts'

/** Seconds after which another server attempts the delivery. */
const claimSeconds = 60

/** An event that is recorded while its webhook is being disabled is due, but waits. */
const isDue = sql<SqlBool>`ended_at is null and next_attempt_at <= now()
  and webhook_id in (select webhooks.id from webhooks where is_enabled)`

/** Returns whether a delivery is due. Reads only, because every server asks every second. */
export async function isAnyDue(db: Database): Promise<boolean> {
  const { rows } = await sql`select 1 from webhook_deliveries where ${isDue} limit 1`.execute(db)
  return rows.length > 0
}

/** Claims up to `limit` deliveries that have been due for the longest time, without those of the webhooks `busy`. */
export async function claimDue(
  db: Database,
  claim: string,
  { limit, busy }: { limit: number; busy: readonly string[] },
): Promise<DeliveryRecord[]> {
  const rows = await db
    .updateTable('webhook_deliveries')
    .set({ claim_id: claim, next_attempt_at: sql<Date>`now() + make_interval(secs => ${claimSeconds})` })
    .where(sql<boolean>`(webhook_id, id) in (
      select webhook_id, id from webhook_deliveries
      where ${isDue} and not webhook_id = any(${busy}::uuid[])
      order by next_attempt_at limit ${limit} for update skip locked)`)
    .returningAll()
    .execute()
  return rows.map(toDelivery)
}

export async function findClaimedWebhooks(db: Database, ids: readonly string[]): Promise<WebhookRecord[]> {
  if (ids.length === 0) return []
  const rows = await db.selectFrom('webhooks').selectAll().where('id', 'in', ids).execute()
  return rows.map(toWebhook)
}

export type AttemptOutcome =
  | { kind: 'delivered'; status: number }
  /** @property retrySeconds null after the last attempt */
  | { kind: 'failed'; status: number | null; error: string; retrySeconds: number | null }
  /** The server stops during the attempt: another one repeats it at once. */
  | { kind: 'interrupted' }

/** Ends a claim. Returns false and changes nothing if the claim has ended. */
export async function settleAttempt(
  db: Database,
  { webhookId, id }: Pick<DeliveryRecord, 'webhookId' | 'id'>,
  claim: string,
  outcome: AttemptOutcome,
): Promise<boolean> {
  const isEnd = outcome.kind === 'delivered' || (outcome.kind === 'failed' && outcome.retrySeconds === null)
  const delay = outcome.kind === 'failed' ? (outcome.retrySeconds ?? 0) : 0
  const { numUpdatedRows } = await db
    .updateTable('webhook_deliveries')
    .set(eb => ({
      claim_id: null,
      next_attempt_at: sql<Date>`now() + make_interval(secs => ${delay})`,
      ...(outcome.kind !== 'interrupted' && {
        attempts: eb('attempts', '+', 1),
        status: outcome.status,
        error: outcome.kind === 'failed' ? outcome.error : null,
      }),
      ...(isEnd && { state: outcome.kind === 'delivered' ? 'DELIVERED' : 'FAILED', ended_at: sql<Date>`now()` }),
    }))
    .where('webhook_id', '=', webhookId)
    .where('id', '=', id)
    .where('claim_id', '=', claim)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
