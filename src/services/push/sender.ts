/** Sends the notifications that are due to the push services of browsers (RFC 8030). */
import { hash, randomUUID } from 'node:crypto'
import { hasSecondFactor } from '../../auth/factors.ts'
import type { Database } from '../../db/client.ts'
import { findMember } from '../../db/members.ts'
import { claimPush, endPush, isAnyPushDue, retryPush, type WaitingPush } from '../../db/push-messages.ts'
import { findPushTarget, forgetPushReceiver, notePushUse, type PushReceiver } from '../../db/push-subscriptions.ts'
import { Limiter } from '../../lib/limiter.ts'
import { rarely } from '../../lib/rarely.ts'
import { retryAfterOf } from '../../lib/retry.ts'
import { startOutbox } from '../outbox.ts'
import { authorizationOf, encrypt, maxText, type SigningKey } from './encryption.ts'
import { type Notification, notificationOf } from './messages.ts'

/** Messages that one server sends at once. */
const atOnce = 8
/** Milliseconds for the whole request to a push service. */
const timeout = 10_000
/** Seconds after which a notification says nothing new: here, and at the push service. */
export const lifetime = 24 * 60 * 60

/** Seconds after a message in which other events about the same subject wait for the next one. */
const quietSeconds: Record<WaitingPush['event'], number> = {
  JOB_ENDED: 0,
  FILES_RECEIVED: 10 * 60,
  SHARE_USED: 60 * 60,
  MENTIONED: 0,
  TEST: 0,
}

interface PushMessage {
  subscriptionId: string
  receiver: PushReceiver
  body: Buffer
  /** A later message with the same topic replaces this one at the push service. */
  topic: string
  isUrgent: boolean
}

/** A push service that did not take a message. Its address may contain a secret, so the error has only the host. */
export class PushFailure extends Error {
  override name = 'PushFailure'
  readonly host: string
  /** Null without a response. */
  readonly status: number | null
  /** Seconds until the push service wants the next request. */
  readonly retryAfter: number

  constructor(
    endpoint: string,
    { status, retryAfter, cause }: { status: number | null; retryAfter: number; cause?: unknown },
  ) {
    const { host } = new URL(endpoint)
    super(status === null ? `${host} does not respond.` : `${host} responds with the status ${status}.`, { cause })
    this.host = host
    this.status = status
    this.retryAfter = retryAfter
  }
}

export interface PushSenderContext {
  db: Database
  signingKey: () => Promise<SigningKey>
  /** Connects to addresses of public networks only. */
  fetch: typeof globalThis.fetch
  /** The operator's address for push services, "https:" or "mailto:"; null for none. */
  contact: string | null
  onError: (error: unknown) => void
  onFailure: (failure: { host: string; status: number | null; attempts: number; retrySeconds: number | null }) => void
}

/** Returns a function that ends the search for messages. */
export function startPushSender(context: PushSenderContext): () => Promise<void> {
  const { db, onError } = context
  // A push service that refuses this server refuses every message.
  const onFailure = rarely(context.onFailure)
  // Claims that see each other's result give a member one message at a time.
  const claims = new Limiter(1)
  return startOutbox<WaitingPush, PushMessage>({
    atOnce,
    isAnyDue: () => isAnyPushDue(db),
    claim: () => claims.run(() => claimPush(db, randomUUID())),
    messageOf: waiting => messageOf(db, waiting),
    send: (message, signal) => send(context, message, signal),
    leastDelay(error) {
      if (!(error instanceof PushFailure)) return 0
      const { status, retryAfter } = error
      const isFinal = status !== null && status < 500 && status !== 429
      return isFinal ? null : retryAfter
    },
    settle: (waiting, retrySeconds) =>
      retrySeconds === null ? endPush(db, waiting, quietSeconds[waiting.event]) : retryPush(db, waiting, retrySeconds),
    onError,
    onFailure(_waiting, error, attempt) {
      if (error instanceof PushFailure) onFailure({ host: error.host, status: error.status, ...attempt })
      else onError(error)
    },
  })
}

/** Returns null for a browser whose session has ended, and for a message that nobody should get any more. */
async function messageOf(db: Database, waiting: WaitingPush): Promise<PushMessage | null> {
  const { subscriptionId, event, subjectId, since } = waiting
  if (Date.now() - since.getTime() > lifetime * 1000) return null
  const target = await findPushTarget(db, subscriptionId)
  const member = target && (await findMember(db, target.workspaceId, target.userId))
  if (!member || member.deactivatedAt) return null
  // Without its second factor, the session has no rights.
  if (target.secondFactorRoles.includes(member.role) && !hasSecondFactor(target.factors)) return null
  const notification = await notificationOf(db, waiting, { member, language: target.language })
  if (!notification) return null
  return {
    subscriptionId,
    receiver: target,
    body: encrypt(textOf(notification), target),
    topic: topicOf(event, subjectId),
    isUrgent: event === 'MENTIONED' || event === 'TEST',
  }
}

/** A path can be longer than a message: then the notification opens the first page. */
function textOf(notification: Notification): Buffer {
  const text = Buffer.from(JSON.stringify(notification))
  return text.length <= maxText ? text : Buffer.from(JSON.stringify({ ...notification, path: '/files' }))
}

/** At most 32 characters of base64url (RFC 8030, section 5.4). A push service learns nothing from it. */
function topicOf(event: WaitingPush['event'], subjectId: string): string {
  return hash('sha256', `${event} ${subjectId}`, 'base64url').slice(0, 32)
}

/** @throws PushFailure */
async function send(
  { db, fetch, signingKey, contact }: PushSenderContext,
  { subscriptionId, receiver, body, topic, isUrgent }: PushMessage,
  signal: AbortSignal,
): Promise<void> {
  const { endpoint } = receiver
  const headers = {
    authorization: authorizationOf(await signingKey(), endpoint, contact),
    'content-type': 'application/octet-stream',
    'content-encoding': 'aes128gcm',
    ttl: String(lifetime),
    urgency: isUrgent ? 'high' : 'normal',
    topic,
    'user-agent': 'Stowage',
  }
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
  const request = { method: 'POST', headers, body: new Uint8Array(body), redirect: 'manual', signal: deadline } as const
  const response = await fetch(endpoint, request).catch(cause => {
    throw new PushFailure(endpoint, { status: null, retryAfter: 0, cause })
  })
  await response.body?.cancel()
  const { status } = response
  if (response.ok) return notePushUse(db, subscriptionId)
  // The person has removed the permission, or the browser.
  if (status === 404 || status === 410) return forgetPushReceiver(db, subscriptionId)
  throw new PushFailure(endpoint, { status, retryAfter: retryAfterOf(response) ?? 0 })
}
