/** Webhooks as people see and change them. */
import { type Selectable, sql } from 'kysely'
import type { Change, Database } from '../client.ts'
import { type Creator, creatorColumns, toCreator } from '../creator.ts'
import type { AuditAction, OutboxEvent, Schema } from '../schema.ts'

export interface WebhookRecord extends Creator {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  name: string
  url: string
  actions: AuditAction[]
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
  /** The id of the audit event, or a new one for a test. */
  id: string
  action: AuditAction | 'TEST'
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

export type NewWebhook = Omit<WebhookRecord, 'isEnabled' | 'error' | 'createdAt'>

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
