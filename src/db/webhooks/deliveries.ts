/**
 * Deliveries as people see them, and as servers attempt them. A claim lets one server at a time attempt a delivery. It
 * ends by itself if that server fails.
 */
import { type SqlBool, sql } from 'kysely'
import { claimRows, isAnyDue, secondsFromNow } from '../claims.ts'
import type { Change, Database } from '../client.ts'
import type { OutboxEvent } from '../schema.ts'
import { type DeliveryRecord, toDelivery, toWebhook, type WebhookRecord } from './webhooks.ts'

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

/** Seconds after which another server attempts the delivery. */
const claimSeconds = 60

/** An event that is recorded while its webhook is being disabled is due, but waits. */
const isDue = sql<SqlBool>`waiting.ended_at is null and waiting.next_attempt_at <= now()
  and waiting.webhook_id in (select webhooks.id from webhooks where is_enabled)`

export function isAnyDeliveryDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'webhook_deliveries', isDue)
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
export async function claimDeliveries(
  db: Database,
  claim: string,
  of: { limit: number; allowances: readonly Allowance[]; others: number },
): Promise<DeliveryRecord[]> {
  const ids = of.allowances.map(({ webhookId }) => webhookId)
  const limits = of.allowances.map(({ limit }) => limit)
  // The inner order is that of the index of the pending deliveries, so other webhooks with many of them cost nothing.
  const due = sql`
    select pending.webhook_id, pending.id from webhooks
    left join unnest(${ids}::uuid[], ${limits}::int[]) with ordinality as known (id, most, rank)
      on known.id = webhooks.id
    cross join lateral (
      select webhook_id, id from webhook_deliveries
      where webhook_id = webhooks.id and ended_at is null and next_attempt_at <= now()
      order by ended_at, id limit coalesce(known.most, ${of.others}::int) for update skip locked
    ) pending
    where webhooks.is_enabled and coalesce(known.most, ${of.others}::int) > 0
    order by known.rank nulls first, pending.id limit ${of.limit}`
  const set = sql`claim_id = ${claim}, next_attempt_at = ${secondsFromNow(claimSeconds)}`
  const rows = await claimRows(db, 'webhook_deliveries', { due, set, key: ['webhook_id', 'id'] })
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
      next_attempt_at: secondsFromNow(delay),
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
