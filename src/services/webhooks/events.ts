import type { AuditAction } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'

interface EventKind {
  /** The type of the message, as Standard Webhooks recommends it. */
  type: string
  /** The action of the audit log whose success is the event. */
  action: AuditAction
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
  JOB_ENDED: {
    type: 'job.ended',
    action: 'JOB_END',
    description: 'A job succeeded, failed or was canceled. A job causes no event per file.',
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
  API_KEY_CREATED: { type: 'api_key.created', action: 'API_KEY_CREATE', description: 'An API key was created.' },
  SHARE_CREATED: { type: 'share.created', action: 'SHARE_CREATE', description: 'A share link was created.' },
  SHARE_REVOKED: { type: 'share.revoked', action: 'SHARE_REVOKE', description: 'A share link was revoked.' },
  API_KEY_REVOKED: { type: 'api_key.revoked', action: 'API_KEY_REVOKE', description: 'An API key was revoked.' },
} as const satisfies Record<string, EventKind>

export type WebhookEvent = keyof typeof webhookEvents

const byAction = new Map<string, { event: WebhookEvent; type: string }>(
  Object.entries(webhookEvents).map(([event, { action, type }]) => [action, { event: event as WebhookEvent, type }]),
)

export function actionsOf(events: readonly WebhookEvent[]): AuditAction[] {
  return [...new Set(events.map(event => webhookEvents[event].action))]
}

export function eventsOf(actions: readonly AuditAction[]): WebhookEvent[] {
  return actions.flatMap(action => byAction.get(action)?.event ?? [])
}

/** Returns the type of a message about an action. */
export function typeOf(action: AuditAction | 'TEST'): string {
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
