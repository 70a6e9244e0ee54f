/** Sends the deliveries that are due: each is attempted by one of the servers at a time. */
import { randomUUID } from 'node:crypto'
import { authorizeWebhook } from '../../auth/needs.ts'
import type { Secrets } from '../../auth/secrets.ts'
import { ownOrigin } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findMember } from '../../db/members.ts'
import { hasMorePending } from '../../db/webhooks/deliveries.ts'
import { type AttemptOutcome, claimDue, findClaimedWebhooks, isAnyDue, settleAttempt } from '../../db/webhooks/due.ts'
import type { DeliveryRecord, WebhookRecord } from '../../db/webhooks/record.ts'
import { disableWebhook } from '../../db/webhooks/webhooks.ts'
import { AppError, type Reason, reasons, toAppError } from '../../errors.ts'
import { isClosedAddress } from '../../storage/network/index.ts'
import type { Audit } from '../audit/index.ts'
import { creatorOf } from '../creator.ts'
import type { Credentials } from '../people/credentials.ts'
import { startPolling } from '../polling.ts'
import { payloadOf } from './payload.ts'
import { retryDelay } from './retry.ts'
import { openSecrets, signedHeaders } from './signature.ts'
import { type Wanted, WebhookSlots } from './slots.ts'

/** Milliseconds for the whole request to a receiver. */
const timeout = 15_000
/** The maximum of `Retry-After`, in seconds. */
const maxRetryAfter = 24 * 60 * 60

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
    return { status, error, retryAfter: secondsOf(response.headers.get('retry-after')) }
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

/** Parses `Retry-After` (RFC 9110, section 10.2.3). */
function secondsOf(header: string | null): number | null {
  if (header === null || header.length > 40) return null
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 0), maxRetryAfter)
}

/** Milliseconds between two searches for due deliveries. */
const pollInterval = 1000
/** The maximum number of pending deliveries of a webhook that fails. */
const maxPending = 50_000

export interface SenderContext {
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
  let ended = 0

  async function search(signal: AbortSignal): Promise<void> {
    if (!(await isAnyDue(db))) return
    while (!signal.aborted) {
      const before = ended
      if ((await claimAll(slots.healthy(), signal)) || (await claimAll(slots.failing(), signal))) continue
      // The slot of a request that ended meanwhile is free, and a search that is running ignores `wake`.
      if (ended === before) return
    }
  }

  /** Returns false if there is nothing to claim. */
  async function claimAll(wanted: Wanted, signal: AbortSignal): Promise<boolean> {
    if (wanted.limit <= 0 || (wanted.others === 0 && wanted.allowances.length === 0)) return false
    const claim = randomUUID()
    const claimed = await claimDue(db, claim, wanted)
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
        ended++
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
  const retrySeconds = retryDelay(delivery.attempts + 1, retryAfter)
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
