/** Webhooks as people see and change them, and their deliveries as servers attempt them. */
import { type Selectable, type SqlBool, sql } from 'kysely'
import { claimRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Change, Database } from './client.ts'
import { type Creator, creatorColumns, toCreator } from './creator.ts'
import type { OutboxEvent, Schema, WebhookAction } from './schema.ts'

export interface WebhookRecord extends Creator {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  name: string
  url: string
  actions: WebhookAction[]
  /** Only events at this location and below it; null for all events of the workspace. */
  location: { providerId: string; path: string } | null
  /** The sealed signing secrets. */
  secrets: Buffer
  isEnabled: boolean
  /** Why the server has disabled the webhook. */
  error: string | null
  createdAt: Date
}

export interface DeliveryRecord {
  webhookId: string
  /** The id of the audit event or of the change that others have made, or a new one for a test. */
  id: string
  action: WebhookAction | 'TEST'
  event: OutboxEvent
  state: 'PENDING' | 'DELIVERED' | 'FAILED'
  attempts: number
  /** Null if the webhook is disabled, and after the end. */
  nextAttemptAt: Date | null
  /** The HTTP status of the latest attempt. */
  status: number | null
  /** Why the latest attempt failed. */
  error: string | null
  endedAt: Date | null
}

export function toWebhook(row: Selectable<Schema['webhooks']>): WebhookRecord {
  return {
    id: row.id,
    ...toCreator(row),
    name: row.name,
    url: row.url,
    actions: row.actions,
    location: row.provider_id === null || row.path === null ? null : { providerId: row.provider_id, path: row.path },
    secrets: row.secrets,
    isEnabled: row.is_enabled,
    error: row.error,
    createdAt: row.created_at,
  }
}

export function toDelivery(row: Selectable<Schema['webhook_deliveries']>): DeliveryRecord {
  const { next_attempt_at: next } = row
  return {
    webhookId: row.webhook_id,
    id: row.id,
    action: row.action,
    event: row.event,
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: next instanceof Date && row.ended_at === null ? next : null,
    status: row.status,
    error: row.error,
    endedAt: row.ended_at,
  }
}

type NewWebhook = Omit<WebhookRecord, 'isEnabled' | 'error' | 'createdAt'>

/** Returns null and inserts nothing if the workspace already has `max` webhooks. */
export async function insertWebhook(db: Change, webhook: NewWebhook, max: number): Promise<WebhookRecord | null> {
  await sql`select id from workspaces where id = ${webhook.workspaceId} for no key update`.execute(db)
  const { count } = await db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('workspace_id', '=', webhook.workspaceId)
    .executeTakeFirstOrThrow()
  if (Number(count) >= max) return null
  const row = await db
    .insertInto('webhooks')
    .values({
      id: webhook.id,
      ...creatorColumns(webhook),
      name: webhook.name,
      url: webhook.url,
      actions: webhook.actions,
      provider_id: webhook.location?.providerId ?? null,
      path: webhook.location?.path ?? null,
      secrets: webhook.secrets,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return toWebhook(row)
}

export async function findWebhook(db: Database, workspaceId: string, id: string): Promise<WebhookRecord | null> {
  const row = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row ? toWebhook(row) : null
}

/** Returns the newest webhooks first, at most `limit`. */
export async function listWebhooks(db: Database, workspaceId: string, limit: number): Promise<WebhookRecord[]> {
  const rows = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toWebhook)
}

/** Finds a webhook that nobody else changes until the end of the transaction. */
export async function lockWebhook(db: Change, id: string): Promise<WebhookRecord | null> {
  const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
  return row ? toWebhook(row) : null
}

type WebhookChanges = Partial<Pick<WebhookRecord, 'name' | 'url' | 'actions' | 'secrets' | 'isEnabled'>> & {
  creator?: Creator
}

/** Changes the given properties, and enables or disables the pending deliveries. Returns null if the webhook does not exist. */
export async function updateWebhook(db: Change, id: string, changes: WebhookChanges): Promise<WebhookRecord | null> {
  const { isEnabled, creator, ...rest } = changes
  const row = await db
    .updateTable('webhooks')
    .set({
      ...rest,
      ...(creator && creatorColumns(creator)),
      ...(isEnabled !== undefined && { is_enabled: isEnabled, error: null }),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  if (row && isEnabled !== undefined) await setWaiting(db, id, isEnabled)
  return row ? toWebhook(row) : null
}

/**
 * Disables a webhook with the reason why, and ends the claims of its deliveries. Returns false and changes nothing if it is
 * disabled already, or if its address or its creator has changed.
 */
export function disableWebhook(
  db: Database,
  { id, url, userId, credentialId }: WebhookRecord,
  error: string,
): Promise<boolean> {
  return db.transaction().execute(async trx => {
    const { numUpdatedRows } = await trx
      .updateTable('webhooks')
      .set({ is_enabled: false, error })
      .where('id', '=', id)
      .where('is_enabled', '=', true)
      .where('url', '=', url)
      .where('user_id', '=', userId)
      .where('credential_id', '=', credentialId)
      .executeTakeFirst()
    if (numUpdatedRows > 0n) await setWaiting(trx, id, false)
    return numUpdatedRows > 0n
  })
}

async function setWaiting(db: Database, id: string, isEnabled: boolean): Promise<void> {
  await sql`
    update webhook_deliveries set claim_id = null,
      next_attempt_at = ${isEnabled ? sql`now()` : sql`'infinity'`}
    where webhook_id = ${id} and ended_at is null`.execute(db)
}

export async function deleteWebhook(db: Change, id: string): Promise<void> {
  await db.deleteFrom('webhooks').where('id', '=', id).execute()
}

// Deliveries as people see them, and as servers attempt them. A claim lets one server at a time attempt a delivery. It
// ends by itself if that server fails.

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
  const dueKeys = sql`
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
  const rows = await claimRows(db, 'webhook_deliveries', { dueKeys, set, key: ['webhook_id', 'id'] })
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
