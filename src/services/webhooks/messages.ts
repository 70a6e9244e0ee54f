/**
 * The messages of webhooks: the events that they tell of, their content, and their signatures, as
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md specifies.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { accessTo, allProviders, includesPath } from '../../auth/access.ts'
import { parsePath } from '../../auth/path.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { WebhookAction } from '../../db/schema.ts'
import type { DeliveryRecord, WebhookRecord } from '../../db/webhooks.ts'
import { AppError } from '../../errors.ts'
import { hasVisibleSources } from '../audit/event.ts'
import type { ChangeOrigin } from '../events/index.ts'

interface EventKind {
  /** The type of the message, as Standard Webhooks recommends it. */
  type: string
  /** The action of the audit log whose success is the event, or that of a change that others make. */
  action: WebhookAction
  description: string
}

/** The events that a webhook can get, by their names in the API. */
export const webhookEvents = {
  FILE_UPLOADED: { type: 'file.uploaded', action: 'UPLOAD', description: 'A file was uploaded.' },
  FOLDER_CREATED: { type: 'folder.created', action: 'FOLDER_CREATE', description: 'A folder was created.' },
  ENTRY_RENAMED: { type: 'entry.renamed', action: 'RENAME', description: 'A file or folder was renamed.' },
  ENTRY_MOVED: { type: 'entry.moved', action: 'MOVE', description: 'A file or folder was moved.' },
  ENTRY_COPIED: { type: 'entry.copied', action: 'COPY', description: 'A file or folder was copied.' },
  ENTRY_DELETED: { type: 'entry.deleted', action: 'DELETE', description: 'A file or folder was deleted.' },
  ENTRY_RESTORED: {
    type: 'entry.restored',
    action: 'RESTORE',
    description: 'A file or folder was moved from the trash to where it was.',
  },
  ENTRY_CHANGED_OUTSIDE: {
    type: 'entry.changed_outside',
    action: 'OUTSIDE_CHANGE',
    description: 'Somebody has changed a file or folder directly at the back end.',
  },
  JOB_ENDED: {
    type: 'job.ended',
    action: 'JOB_END',
    description: 'A job succeeded, failed or was canceled. A job causes no event per file.',
  },
  DAMAGE_FOUND: {
    type: 'damage.found',
    action: 'DAMAGE_FOUND',
    description: 'A job that verifies files or keeps copies has found damaged or missing files.',
  },
  PROVIDER_CONNECTED: {
    type: 'provider.connected',
    action: 'PROVIDER_CONNECT',
    description: 'A provider was connected.',
  },
  PROVIDER_UPDATED: { type: 'provider.updated', action: 'PROVIDER_UPDATE', description: 'A provider was changed.' },
  PROVIDER_DISCONNECTED: {
    type: 'provider.disconnected',
    action: 'PROVIDER_DISCONNECT',
    description: 'A provider was disconnected.',
  },
  MEMBER_JOINED: { type: 'member.joined', action: 'REGISTER', description: 'A person registered.' },
  MEMBER_UPDATED: {
    type: 'member.updated',
    action: 'MEMBER_UPDATE',
    description: 'The role or the access of a member was changed.',
  },
  MEMBER_REMOVED: { type: 'member.removed', action: 'MEMBER_REMOVE', description: 'A member was removed.' },
  MEMBER_DEACTIVATED: {
    type: 'member.deactivated',
    action: 'MEMBER_DEACTIVATE',
    description: 'A member was deactivated.',
  },
  MEMBER_REACTIVATED: {
    type: 'member.reactivated',
    action: 'MEMBER_REACTIVATE',
    description: 'A member was reactivated.',
  },
  GROUP_CREATED: { type: 'group.created', action: 'GROUP_CREATE', description: 'A group was created.' },
  GROUP_UPDATED: {
    type: 'group.updated',
    action: 'GROUP_UPDATE',
    description: 'The name, the role or the access of a group was changed.',
  },
  GROUP_DELETED: { type: 'group.deleted', action: 'GROUP_DELETE', description: 'A group was deleted.' },
  GROUP_MEMBER_ADDED: {
    type: 'group.member_added',
    action: 'GROUP_MEMBER_ADD',
    description: 'A member was added to a group.',
  },
  GROUP_MEMBER_REMOVED: {
    type: 'group.member_removed',
    action: 'GROUP_MEMBER_REMOVE',
    description: 'A member was removed from a group.',
  },
  SERVICE_ACCOUNT_CREATED: {
    type: 'service_account.created',
    action: 'SERVICE_ACCOUNT_CREATE',
    description: 'A service account was created.',
  },
  API_KEY_CREATED: { type: 'api_key.created', action: 'API_KEY_CREATE', description: 'An API key was created.' },
  SHARE_CREATED: { type: 'share.created', action: 'SHARE_CREATE', description: 'A share link was created.' },
  SHARE_REVOKED: { type: 'share.revoked', action: 'SHARE_REVOKE', description: 'A share link was revoked.' },
  API_KEY_REVOKED: { type: 'api_key.revoked', action: 'API_KEY_REVOKE', description: 'An API key was revoked.' },
} as const satisfies Record<string, EventKind>

export type WebhookEvent = keyof typeof webhookEvents

const byAction = new Map<string, { event: WebhookEvent; type: string }>(
  Object.entries(webhookEvents).map(([event, { action, type }]) => [action, { event: event as WebhookEvent, type }]),
)

export function actionsOf(events: readonly WebhookEvent[]): WebhookAction[] {
  return [...new Set(events.map(event => webhookEvents[event].action))]
}

export function eventsOf(actions: readonly WebhookAction[]): WebhookEvent[] {
  return actions.flatMap(action => byAction.get(action)?.event ?? [])
}

/** Returns the type of a message about an action. */
export function typeOf(action: WebhookAction | 'TEST'): string {
  return byAction.get(action)?.type ?? 'webhook.test'
}

/** Characters. */
const maxUrl = 2000

/** Returns the URL, and its host for the audit log: the rest may contain a secret. @throws INVALID_INPUT */
export function parseUrl(text: string): { url: string; host: string } {
  const url = text.length <= maxUrl ? URL.parse(text) : null
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    const message = `The URL of a webhook begins with "https://" or "http://", contains no user name, and has at most ${maxUrl} characters.`
    throw new AppError('INVALID_INPUT', message)
  }
  url.hash = ''
  return { url: url.href, host: url.host }
}

/** @throws INVALID_INPUT */
export function parseEvents(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  if (events.length === 0) throw new AppError('INVALID_INPUT', 'Give at least one event.')
  return events
}

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
    /** OUTSIDE: somebody has made the change directly at the back end. */
    origin: ChangeOrigin
    /** The kind of a change from outside, as in `entryChanged`. */
    change: string | null
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
  const isAllVisible =
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
      bytes: isAllVisible ? event.bytes : null,
      job: action === 'JOB_END' ? jobOf(event.details, isAllVisible) : null,
      origin: action === 'OUTSIDE_CHANGE' ? 'OUTSIDE' : 'STOWAGE',
      change: action === 'OUTSIDE_CHANGE' ? String(event.details.kind) : null,
    },
  }
}

function jobOf(details: Record<string, unknown>, isAllVisible: boolean): Record<string, unknown> {
  const { kind, state, files, skipped, deleted, failed } = details
  return isAllVisible ? { kind, state, files, skipped, deleted, failed } : { kind, state }
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
