/**
 * Sends the deliveries that are due: each is attempted by one of the servers at a time. Receivers that fail or do not
 * respond never use up the requests of the others.
 */
import { randomUUID } from 'node:crypto'
import { authorizeWebhook } from '../../auth/needs.ts'
import type { Secrets } from '../../auth/secrets.ts'
import { ownOrigin } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findMember } from '../../db/members.ts'
import {
  type Allowance,
  type AttemptOutcome,
  claimDeliveries,
  type DeliveryRecord,
  disableWebhook,
  findClaimedWebhooks,
  hasMorePending,
  isAnyDeliveryDue,
  settleAttempt,
  type WebhookRecord,
} from '../../db/webhooks.ts'
import { AppError, type Reason, reasons, toAppError } from '../../errors.ts'
import { Counts } from '../../lib/counts.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { startPolling } from '../../lib/polling.ts'
import { deliverySchedule, retryAfterOf, retryDelay } from '../../lib/retry.ts'
import { isClosedAddress } from '../../storage/network/index.ts'
import type { Audit } from '../audit/index.ts'
import { creatorOf } from '../creator.ts'
import type { Credentials } from '../people/credentials.ts'
import { openSecrets, payloadOf, signedHeaders } from './messages.ts'

/** Milliseconds for the whole request to a receiver. */
const timeout = 15_000

/** The outcome of one request to the receiver of a webhook. */
interface Response {
  /** Null without a response. */
  status: number | null
  /** Null if the receiver accepted the message. */
  error: string | null
  /** Seconds until the receiver wants the next attempt. */
  retryAfter: number | null
}

/** Sends a message. Only a status of 2xx is a success; a redirect is not followed. @throws if the signal aborts */
async function post(
  fetch: typeof globalThis.fetch,
  { url, headers, body }: { url: string; headers: Record<string, string>; body: string },
  signal: AbortSignal,
): Promise<Response> {
  const deadline = AbortSignal.timeout(timeout)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Stowage', ...headers },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, deadline]),
    })
    await response.body?.cancel()
    const { status } = response
    const error = response.ok ? null : `The receiver responded with the status ${status}.`
    return { status, error, retryAfter: retryAfterOf(response) }
  } catch (error) {
    signal.throwIfAborted()
    return { status: null, error: deadline.aborted ? tooSlow : explain(error), retryAfter: null }
  }
}

const tooSlow = `The receiver did not respond within ${timeout / 1000} seconds.`

function explain(error: unknown): string {
  if (isClosedAddress(error)) return 'The address of the receiver is closed: see STOWAGE_ALLOW_NETWORKS.'
  const code = codeOf(error)
  return `The connection to the receiver failed${code ? ` (${code})` : ''}.`
}

function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  if ('code' in error && typeof error.code === 'string') return error.code
  return codeOf(error.cause)
}

/** Milliseconds between two searches for due deliveries. */
const pollInterval = 1000
/** The maximum number of pending deliveries of a webhook that fails. */
const maxPending = 50_000

interface SenderContext {
  db: Database
  secrets: Secrets
  audit: Audit
  credentials: Pick<Credentials, 'recall' | 'recallMember'>
  /** Checks the address of each connection. */
  fetch: typeof globalThis.fetch
  onError: (error: unknown) => void
}

/** Returns a function that interrupts running requests, which another server repeats. */
export function startWebhookSender(context: SenderContext): () => Promise<void> {
  const { db, onError } = context
  const running = new Set<Promise<void>>()
  const slots = new WebhookSlots()

  async function search(signal: AbortSignal): Promise<void> {
    if (!(await isAnyDeliveryDue(db))) return
    let hasClaimed = true
    while (hasClaimed && !signal.aborted) {
      hasClaimed = (await claimAll(slots.healthy(), signal)) || (await claimAll(slots.failing(), signal))
    }
  }

  /** Returns false if there is nothing to claim. */
  async function claimAll(wanted: Wanted, signal: AbortSignal): Promise<boolean> {
    if (wanted.limit <= 0 || (wanted.others === 0 && wanted.allowances.length === 0)) return false
    const claim = randomUUID()
    const claimed = await claimDeliveries(db, claim, wanted)
    const webhooks = await findClaimedWebhooks(db, [...new Set(claimed.map(({ webhookId }) => webhookId))])
    for (const delivery of claimed) {
      const webhook = webhooks.find(({ id }) => id === delivery.webhookId)
      // A deleted webhook has no deliveries, and those of a disabled one wait.
      if (webhook?.isEnabled) begin(webhook, delivery, { claim, signal })
    }
    return claimed.length > 0
  }

  function begin(
    webhook: WebhookRecord,
    delivery: DeliveryRecord,
    { claim, signal }: { claim: string; signal: AbortSignal },
  ): void {
    slots.begin(webhook.id)
    const attempt = deliver(context, webhook, delivery, claim, signal)
      // After a failure of the server, the claim ends by itself, and the delivery is attempted again.
      .catch(error => {
        onError(error)
        return false
      })
      .then(isAccepted => {
        slots.end(webhook.id, isAccepted)
        running.delete(attempt)
        polling.wake()
      })
    running.add(attempt)
  }

  const polling = startPolling({ interval: pollInterval, search, onError })
  return async () => {
    await polling.stop()
    await Promise.all(running)
  }
}

/** Returns whether the receiver accepted the message, or null if it got none. */
async function deliver(
  context: SenderContext,
  webhook: WebhookRecord,
  delivery: DeliveryRecord,
  claim: string,
  signal: AbortSignal,
): Promise<boolean | null> {
  const { db } = context
  const settle = (outcome: AttemptOutcome) => settleAttempt(db, delivery, claim, outcome)
  let response: Response
  try {
    authorizeWebhook(await creatorOf(context.credentials, webhook, ownOrigin), webhook.location)
    response = await send(context, webhook, delivery, signal)
  } catch (error) {
    if (signal.aborted) {
      await settle({ kind: 'interrupted' })
      return null
    }
    const { reason, message } = toAppError(error)
    if (!(error instanceof AppError) || reasons[reason].retryable) throw error
    // Somebody who has just changed the webhook may have the rights, so the next attempt checks them again.
    if (!(await disable(context, webhook, reason, message))) await settle({ kind: 'interrupted' })
    return null
  }
  const { status, error, retryAfter } = response
  if (error === null && status !== null) {
    await settle({ kind: 'delivered', status })
    return true
  }
  const retrySeconds = retryDelay(deliverySchedule, delivery.attempts + 1, retryAfter ?? 0)
  await settle({ kind: 'failed', status, error: error ?? '', retrySeconds })
  if (status === 410) await disable(context, webhook, 'NOT_FOUND', 'The receiver responded with the status 410 (Gone).')
  else if (await hasMorePending(db, webhook.id, maxPending)) {
    const message = `More than ${maxPending} deliveries are pending.`
    await disable(context, webhook, 'UNAVAILABLE', message)
  }
  return false
}

function send(
  { fetch, secrets }: SenderContext,
  webhook: WebhookRecord,
  delivery: DeliveryRecord,
  signal: AbortSignal,
): Promise<Response> {
  const body = JSON.stringify(payloadOf(webhook, delivery))
  const signing = openSecrets(secrets, webhook.id, webhook.secrets)
  const headers = signedHeaders(signing, { id: delivery.id, at: new Date(), body })
  return post(fetch, { url: webhook.url, headers, body }, signal)
}

/** Returns false if the webhook was disabled or changed meanwhile. */
async function disable(
  { db, audit }: SenderContext,
  webhook: WebhookRecord,
  reason: Reason,
  message: string,
): Promise<boolean> {
  if (!(await disableWebhook(db, webhook, message))) return false
  const { id, workspaceId, userId, name, credentialKind, credentialId, location } = webhook
  const user = await findMember(db, workspaceId, userId)
  const facts = {
    credential: { kind: credentialKind, id: credentialId },
    subject: { kind: 'WEBHOOK', id } as const,
    ...(location && { location }),
    details: { name, enabled: false },
  }
  if (user) audit.noteOwn('WEBHOOK_UPDATE', { ...facts, user }, reason)
  return true
}

/** Requests of one server at once. */
export const maxAtOnce = 16
/** The maximum of one webhook. It has one until its receiver has accepted a message, and after a failure. */
export const maxOfWebhook = 4
/** The maximum of all webhooks together whose latest attempt failed. */
export const maxOfFailing = 8
/** Milliseconds from a failure to the next attempt of the same webhook. */
export const pause = 1000
/** Webhooks that are remembered. A webhook that is forgotten counts as a new one. */
const maxKnown = 1000

/** The deliveries that a claim may take. */
interface Wanted {
  limit: number
  /** The number of deliveries for each of these webhooks. The first ones are preferred. */
  allowances: readonly Allowance[]
  /** The maximum of each other webhook, which comes before them. */
  others: number
}

export class WebhookSlots {
  readonly #running = new Counts<string>()
  /**
   * When the latest attempt failed, in milliseconds of `performance.now()`; null after a success. The webhook that was attempted
   * least recently is first.
   */
  readonly #latest = new LruMap<string, number | null>(maxKnown)

  begin(webhookId: string): void {
    this.#running.add(webhookId)
  }

  /** @param isAccepted null if the attempt says nothing about the receiver */
  end(webhookId: string, isAccepted: boolean | null, now = performance.now()): void {
    this.#running.add(webhookId, -1)
    if (isAccepted !== null) this.#latest.set(webhookId, isAccepted ? null : now)
  }

  /** Returns what new webhooks, and those whose latest attempt succeeded, may get now. */
  healthy(): Wanted {
    const ids = new Set([...this.#latest, ...this.#running].map(([webhookId]) => webhookId))
    const allowances = [...ids].map(webhookId => {
      const limit = this.#latest.peek(webhookId) === null ? maxOfWebhook - this.#running.get(webhookId) : 0
      return { webhookId, limit }
    })
    return { limit: this.#free(), allowances, others: 1 }
  }

  /** Returns what webhooks whose latest attempt failed may get now. */
  failing(now = performance.now()): Wanted {
    let running = 0
    const allowances: Allowance[] = []
    for (const [webhookId, failedAt] of this.#latest) {
      if (failedAt === null) continue
      const runningNow = this.#running.get(webhookId)
      running += runningNow
      if (runningNow === 0 && now - failedAt >= pause) allowances.push({ webhookId, limit: 1 })
    }
    return { limit: Math.min(this.#free(), maxOfFailing - running), allowances, others: 0 }
  }

  #free(): number {
    return Array.from(this.#running).reduce((free, [, count]) => free - count, maxAtOnce)
  }
}
