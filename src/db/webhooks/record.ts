import type { Selectable } from 'kysely'
import { type Creator, toCreator } from '../creator.ts'
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
