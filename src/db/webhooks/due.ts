/** A claim lets one server at a time attempt a delivery. It ends by itself if that server fails. */
import { type Selectable, sql } from 'kysely'
import type { Database } from '../client.ts'
import type { Schema } from '../schema.ts'
import { type DeliveryRecord, toDelivery, toWebhook, type WebhookRecord } from './record.ts'

/** Seconds after which another server attempts the delivery. */
const claimSeconds = 60

/**
 * Returns whether a delivery is due. Reads only, because every server asks every second. An event that is recorded while its
 * webhook is being disabled is due, but waits.
 */
export async function isAnyDue(db: Database): Promise<boolean> {
  const { rows } = await sql`
    select 1 from webhook_deliveries where ended_at is null and next_attempt_at <= now()
      and webhook_id in (select webhooks.id from webhooks where is_enabled)
    limit 1`.execute(db)
  return rows.length > 0
}

/** The number of deliveries that one webhook may get. */
export interface Allowance {
  webhookId: string
  limit: number
}

/**
 * Claims up to `limit` deliveries that are due: of each webhook the oldest ones, and no more than it may get.
 * @param of.allowances the first webhooks are preferred
 * @param of.others the number for each other webhook, which is preferred to them
 */
export async function claimDue(
  db: Database,
  claim: string,
  of: { limit: number; allowances: readonly Allowance[]; others: number },
): Promise<DeliveryRecord[]> {
  const ids = of.allowances.map(({ webhookId }) => webhookId)
  const limits = of.allowances.map(({ limit }) => limit)
  // The inner order is that of the index of the pending deliveries, so other webhooks with many of them cost nothing.
  const { rows } = await sql<Selectable<Schema['webhook_deliveries']>>`
    with due as materialized (
      select pending.webhook_id, pending.id from webhooks
      left join unnest(${ids}::uuid[], ${limits}::int[]) with ordinality as known (id, most, place)
        on known.id = webhooks.id
      cross join lateral (
        select webhook_id, id from webhook_deliveries
        where webhook_id = webhooks.id and ended_at is null and next_attempt_at <= now()
        order by ended_at, id limit coalesce(known.most, ${of.others}::int) for update skip locked
      ) pending
      where webhooks.is_enabled and coalesce(known.most, ${of.others}::int) > 0
      order by known.place nulls first, pending.id limit ${of.limit}
    )
    update webhook_deliveries set claim_id = ${claim}, next_attempt_at = now() + make_interval(secs => ${claimSeconds})
    from due where webhook_deliveries.webhook_id = due.webhook_id and webhook_deliveries.id = due.id
    returning webhook_deliveries.*`.execute(db)
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
