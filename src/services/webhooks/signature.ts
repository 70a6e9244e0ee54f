/** Signs messages as https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md specifies. */
import { createHmac, randomBytes } from 'node:crypto'
import type { Secrets } from '../../auth/secrets.ts'

/** The secrets of a webhook. During the overlap of a rotation, the previous one signs, too. */
export interface SigningSecrets {
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
