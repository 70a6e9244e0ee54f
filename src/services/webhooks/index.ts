/** Webhooks: messages to other servers about what happens here. */
import { isId, timeOrderedIds } from '../../auth/id.ts'
import { authorizeWebhook } from '../../auth/needs.ts'
import { formatPath } from '../../auth/path.ts'
import { owns, requireRecent, requireScope } from '../../auth/policy.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { type Database, isForeignKeyViolation } from '../../db/client.ts'
import {
  type DeliveryRecord,
  type DeliveryState,
  deleteDeliveriesEndedBefore,
  deleteWebhook,
  findWebhook,
  insertTest,
  insertWebhook,
  listDeliveries,
  listWebhooks,
  lockWebhook,
  replay,
  updateWebhook,
  type WebhookRecord,
} from '../../db/webhooks.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import { cut } from '../audit/event.ts'
import type { Audit, Recording } from '../audit/index.ts'
import { asCreator } from '../creator.ts'
import { parseName, parsePageSize } from '../input.ts'
import { decodeIdCursor, encodeIdCursor } from '../paging.ts'
import {
  actionsOf,
  isSecret,
  newSecret,
  openSecrets,
  overlap,
  parseEvents,
  parseUrl,
  sealSecrets,
  type WebhookEvent,
} from './messages.ts'

/** The maximum number of webhooks of a workspace. */
export const maxWebhooks = 100
export const maxDeliveriesPage = 100
/** The maximum number of deliveries that are sent again at once. */
export const maxReplay = 1000
/** Days that a delivery stays in the history after its end. */
export const historyDays = 30
const sweepSize = 5000

export interface NewWebhookInput {
  name: string
  url: string
  events: readonly WebhookEvent[]
  /** Null for all events of the workspace. */
  location?: { providerId: string; path: string } | null | undefined
}

export interface WebhookUpdate {
  id: string
  name?: string | null | undefined
  url?: string | null | undefined
  events?: readonly WebhookEvent[] | null | undefined
  enabled?: boolean | null | undefined
}

export type Webhooks = ReturnType<typeof createWebhooks>

export function createWebhooks({
  db,
  secrets,
  audit,
  storage,
}: {
  db: Database
  secrets: Secrets
  audit: Audit
  storage: Pick<Storage, 'record'>
}) {
  const nextId = timeOrderedIds()

  /** Finds a webhook that the viewer owns. */
  async function find(viewer: Viewer | null, id: string): Promise<WebhookRecord> {
    const admin = requireScope(viewer, 'admin')
    const webhook = isId(id) ? await findWebhook(db, admin.member.workspaceId, id) : null
    if (!webhook || !isVisible(admin, webhook)) throw notFound()
    return webhook
  }

  function change<T>(
    viewer: Viewer | null,
    action: 'WEBHOOK_UPDATE' | 'WEBHOOK_DELETE' | 'WEBHOOK_ROTATE' | 'WEBHOOK_TEST' | 'WEBHOOK_REPLAY',
    id: string,
    work: (recording: Recording, admin: Viewer, webhook: WebhookRecord) => Promise<T>,
  ): Promise<T> {
    return audit.recorded(viewer, action, { subject: { kind: 'WEBHOOK', id } }, async recording => {
      const webhook = await find(viewer, id)
      const { location, name } = webhook
      recording.add({ ...(location && { location }), details: { name } })
      return work(recording, requireScope(viewer, 'admin'), webhook)
    })
  }

  return {
    /**
     * Creates a webhook, which ends with the rights of the viewer, and with their API key. `secret` cannot be read again.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, OUTSIDE_BASE_PATH, NOT_FOUND, INVALID_INPUT, INVALID_PATH,
     *   TOO_MANY_WEBHOOKS
     */
    create(
      viewer: Viewer | null,
      input: NewWebhookInput,
      secret = newSecret(),
    ): Promise<{ webhook: WebhookRecord; secret: string }> {
      const given = { ...(input.location && { location: input.location }), details: { name: cut(input.name) } }
      return audit.recorded(viewer, 'WEBHOOK_CREATE', given, async recording => {
        const { viewer: admin, grant } = authorizeWebhook(viewer, input.location)
        if (grant) await storage.record(grant)
        const { url, host } = parseUrl(input.url)
        const id = nextId(new Date())
        requireRecent(admin)
        requireSecret(secret)
        const webhook = {
          id,
          ...asCreator(admin),
          name: parseName(input.name, 'The name of a webhook'),
          url,
          actions: actionsOf(parseEvents(input.events)),
          location: grant && { providerId: grant.providerId, path: formatPath(grant.path) },
          secrets: sealSecrets(secrets, id, { current: secret, previous: null }),
        }
        recording.add({ subject: { kind: 'WEBHOOK', id }, details: { host, events: input.events } })
        return recording.commit(async trx => {
          const created = await insertWebhook(trx, webhook, maxWebhooks)
          if (!created) throw tooManyWebhooks()
          return { webhook: created, secret }
        })
      })
    },

    /**
     * Changes a webhook, or enables or disables it. Deliveries that are pending go to the new address. An administrator who
     * changes the address becomes the creator, because the webhook needs the rights of the person who gets its messages.
     * @throws SCOPE_REQUIRED, NOT_FOUND, INVALID_INPUT
     */
    update(viewer: Viewer | null, { id, name, url, events, enabled }: WebhookUpdate): Promise<WebhookRecord> {
      return change(viewer, 'WEBHOOK_UPDATE', id, async (recording, admin) => {
        const target = url == null ? null : parseUrl(url)
        const changes = {
          ...(name != null && { name: parseName(name, 'The name of a webhook') }),
          ...(target && { url: target.url }),
          ...(events != null && { actions: actionsOf(parseEvents(events)) }),
          ...(enabled != null && { isEnabled: enabled }),
        }
        if (Object.keys(changes).length === 0) throw new AppError('INVALID_INPUT', 'Give at least one change.')
        recording.add({ details: { ...(target && { host: target.host }), ...(events && { events }), enabled } })
        return recording.commit(async trx => {
          const before = await present(lockWebhook(trx, id))
          const isMoved = target !== null && target.url !== before.url
          return present(updateWebhook(trx, id, { ...changes, ...(isMoved && { creator: asCreator(admin) }) }))
        })
      })
    },

    /** Deletes a webhook and its deliveries. @throws SCOPE_REQUIRED, NOT_FOUND */
    async delete(viewer: Viewer | null, id: string): Promise<void> {
      await change(viewer, 'WEBHOOK_DELETE', id, recording => recording.commit(trx => deleteWebhook(trx, id)))
    },

    /**
     * Replaces the secret. The previous one signs, too, for another day. The viewer, who learns the secret, becomes the creator.
     * @throws SCOPE_REQUIRED, NOT_FOUND, INVALID_INPUT
     */
    rotateSecret(
      viewer: Viewer | null,
      id: string,
      secret = newSecret(),
    ): Promise<{ webhook: WebhookRecord; secret: string }> {
      return change(viewer, 'WEBHOOK_ROTATE', id, async (recording, admin) => {
        requireSecret(secret)
        const webhook = await recording.commit(async trx => {
          const { current } = openSecrets(secrets, id, (await present(lockWebhook(trx, id))).secrets)
          const previous = { secret: current, until: new Date(Date.now() + overlap).toISOString() }
          const sealed = sealSecrets(secrets, id, { current: secret, previous })
          return present(updateWebhook(trx, id, { secrets: sealed, creator: asCreator(admin) }))
        })
        return { webhook, secret }
      })
    },

    /** Sends a message of the type "webhook.test". @throws SCOPE_REQUIRED, NOT_FOUND, PRECONDITION_FAILED */
    test(viewer: Viewer | null, id: string): Promise<DeliveryRecord> {
      return change(viewer, 'WEBHOOK_TEST', id, async (recording, { member, kind, credentialId }, webhook) => {
        requireEnabled(webhook)
        const at = new Date()
        const event = {
          ...nothing,
          at: at.toISOString(),
          userId: member.userId,
          userName: member.name,
          userEmail: member.email,
          credentialKind: kind,
          credentialId,
        }
        const test = recording.commit(trx => insertTest(trx, { webhookId: webhook.id, id: nextId(at), event }))
        return test.catch(error => {
          // Somebody has deleted the webhook since.
          throw isForeignKeyViolation(error) ? notFound() : error
        })
      })
    },

    /**
     * Sends deliveries again: the given ones or, for null, those that have failed. Returns their number.
     * @throws SCOPE_REQUIRED, NOT_FOUND, INVALID_INPUT, PRECONDITION_FAILED
     */
    replay(viewer: Viewer | null, id: string, deliveryIds: readonly string[] | null): Promise<number> {
      return change(viewer, 'WEBHOOK_REPLAY', id, async (recording, _admin, webhook) => {
        requireEnabled(webhook)
        if (deliveryIds && (deliveryIds.length > maxReplay || !deliveryIds.every(isId))) {
          throw new AppError('INVALID_INPUT', `Give the IDs of at most ${maxReplay} deliveries.`)
        }
        return recording.commit(async trx => {
          const count = await replay(trx, webhook.id, { ids: deliveryIds, limit: maxReplay })
          recording.add({ details: { deliveries: count } })
          return count
        })
      })
    },

    /** Returns whether a secret signs the messages of a webhook now. */
    signsWith({ id, secrets: sealed }: WebhookRecord, secret: string): boolean {
      return openSecrets(secrets, id, sealed).current === secret
    },

    get: find,

    /** Returns the webhooks that the viewer owns, newest first. @throws SCOPE_REQUIRED */
    async list(viewer: Viewer | null): Promise<WebhookRecord[]> {
      const admin = requireScope(viewer, 'admin')
      const found = await listWebhooks(db, admin.member.workspaceId, maxWebhooks)
      return found.filter(webhook => isVisible(admin, webhook))
    },

    /** Returns the newest deliveries first. @throws INVALID_INPUT, INVALID_CURSOR */
    async deliveries(
      { id }: WebhookRecord,
      {
        first,
        after,
        state,
      }: { first: number; after?: string | null | undefined; state?: DeliveryState | null | undefined },
    ): Promise<{ items: { delivery: DeliveryRecord; cursor: string }[]; hasNext: boolean }> {
      const limit = parsePageSize(first, maxDeliveriesPage)
      const before = after == null ? null : decodeIdCursor(after)
      const found = await listDeliveries(db, id, { state: state ?? null, limit: limit + 1, before })
      const items = found.slice(0, limit).map(delivery => ({ delivery, cursor: encodeIdCursor(delivery.id) }))
      return { items, hasNext: found.length > limit }
    },

    /** Deletes old deliveries, until the signal aborts. Call it once a day. */
    async sweep(signal: AbortSignal): Promise<void> {
      while (!signal.aborted && (await deleteDeliveriesEndedBefore(db, historyDays, sweepSize)) === sweepSize);
    },
  }
}

function isVisible(viewer: Viewer, webhook: WebhookRecord): boolean {
  return webhook.location ? owns(viewer, webhook, [webhook.location]) : viewer.access.all && owns(viewer, webhook, [])
}

/** @throws NOT_FOUND */
async function present(finding: Promise<WebhookRecord | null>): Promise<WebhookRecord> {
  const webhook = await finding
  if (!webhook) throw notFound()
  return webhook
}

/** @throws INVALID_INPUT */
function requireSecret(secret: string): void {
  if (isSecret(secret)) return
  const message =
    'The secret of a webhook is "whsec_" and 24 to 64 bytes in base64: "echo whsec_$(openssl rand -base64 32)".'
  throw new AppError('INVALID_INPUT', message)
}

/** @throws PRECONDITION_FAILED */
function requireEnabled({ isEnabled }: WebhookRecord): void {
  if (!isEnabled) throw new AppError('PRECONDITION_FAILED', 'The webhook is disabled: enable it first.')
}

/** The facts of an event that happens nowhere. */
const nothing = {
  result: 'OK',
  providerId: null,
  providerName: null,
  path: null,
  toProviderId: null,
  toProviderName: null,
  toPath: null,
  subjectKind: null,
  subjectId: null,
  bytes: null,
  details: {},
} as const

function notFound(): AppError {
  return new AppError('NOT_FOUND', 'There is no such webhook.')
}

function tooManyWebhooks(): AppError {
  const message = `The workspace has ${maxWebhooks} webhooks, which is the limit: delete some first.`
  return new AppError('TOO_MANY_WEBHOOKS', message)
}
