/** Signs messages as https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md specifies. */

import { createHmac, randomBytes } from 'node:crypto'
import { accessTo, allProviders, includesPath } from '../../auth/access.ts'
import { parsePath } from '../../auth/path.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { DeliveryRecord, WebhookRecord } from '../../db/webhooks/webhooks.ts'
import { hasVisibleSources } from '../audit/sources.ts'
import { typeOf } from './events.ts'

interface VisibleLocation {
  providerId: string
  providerName: string | null
  path: string | null
}

/** The JSON body of a message: https://www.standardwebhooks.com, "Payload structure". */
interface Payload {
  type: string
  timestamp: string
  data: {
    id: string
    user: { id: string; name: string | null; email: string | null } | null
    credential: { kind: string; id: string } | null
    location: VisibleLocation | null
    to: VisibleLocation | null
    subject: { kind: string; id: string } | null
    bytes: number | null
    /** The kind, the state and the counts of a job. */
    job: Record<string, unknown> | null
  }
}

/**
 * Returns what a webhook learns of an event. Locations outside of its own are omitted, and then also the bytes and counts, which
 * cover all locations.
 */
export function payloadOf(
  { location: own }: Pick<WebhookRecord, 'location'>,
  { id, action, event }: Pick<DeliveryRecord, 'id' | 'action' | 'event'>,
): Payload {
  const access = own ? accessTo([[own.providerId, parsePath(own.path)]]) : allProviders
  const visible = (providerId: string | null, providerName: string | null, path: string | null) =>
    providerId !== null && includesPath(access, providerId, parsePath(path ?? '/'))
      ? { providerId, providerName, path }
      : null
  const location = visible(event.providerId, event.providerName, event.path)
  const to = visible(event.toProviderId, event.toProviderName, event.toPath)
  const isWhole =
    (event.providerId === null || location !== null) &&
    (event.toProviderId === null || to !== null) &&
    hasVisibleSources({ action, details: event.details }, access)
  const { userId, credentialId, credentialKind, subjectKind, subjectId } = event
  return {
    type: typeOf(action),
    timestamp: new Date(event.at).toISOString(),
    data: {
      id,
      user: userId === null ? null : { id: userId, name: event.userName, email: event.userEmail },
      credential: credentialId === null || credentialKind === null ? null : { kind: credentialKind, id: credentialId },
      location,
      to,
      subject: subjectId === null || subjectKind === null ? null : { kind: subjectKind, id: subjectId },
      bytes: isWhole ? event.bytes : null,
      job: action === 'JOB_END' ? jobOf(event.details, isWhole) : null,
    },
  }
}

function jobOf(details: Record<string, unknown>, isWhole: boolean): Record<string, unknown> {
  const { kind, state, files, skipped, deleted, failed } = details
  return isWhole ? { kind, state, files, skipped, deleted, failed } : { kind, state }
}

/** The secrets of a webhook. During the overlap of a rotation, the previous one signs, too. */
interface SigningSecrets {
  current: string
  previous: { secret: string; until: string } | null
}

/** Milliseconds for which the previous secret still signs. */
export const overlap = 24 * 60 * 60 * 1000
const prefix = 'whsec_'

export function newSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}

/** Standard Webhooks recommends 24 to 64 bytes. */
export function isSecret(text: string): boolean {
  const base64 = text.startsWith(prefix) ? text.slice(prefix.length) : ''
  const bytes = Buffer.from(base64, 'base64')
  return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === base64
}

export function sealSecrets(secrets: Secrets, webhookId: string, signing: SigningSecrets): Buffer {
  return secrets.seal('webhook', webhookId, JSON.stringify(signing))
}

/** @throws SecretMismatch */
export function openSecrets(secrets: Secrets, webhookId: string, sealed: Buffer): SigningSecrets {
  return JSON.parse(secrets.open('webhook', webhookId, sealed))
}

/** Returns the headers of a message. */
export function signedHeaders(
  signing: SigningSecrets,
  { id, at, body }: { id: string; at: Date; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const { current, previous } = signing
  const valid = previous && Date.parse(previous.until) > at.getTime() ? [current, previous.secret] : [current]
  const sign = (secret: string) =>
    createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
      .update(`${id}.${timestamp}.${body}`)
      .digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': valid.map(secret => `v1,${sign(secret)}`).join(' '),
  }
}
