import { isWithin, parsePath } from '../../auth/path.ts'
import type { DeliveryRecord, WebhookRecord } from '../../db/webhooks/record.ts'
import { typeOf } from './events.ts'

interface VisibleLocation {
  providerId: string
  providerName: string | null
  path: string | null
}

/** The JSON body of a message: https://www.standardwebhooks.com, "Payload structure". */
export interface Payload {
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
    /** The state and the counts of a job. */
    job: Record<string, unknown> | null
  }
}

/** Returns what a webhook learns of an event. Locations outside of its own are omitted. */
export function payloadOf(
  { location }: Pick<WebhookRecord, 'location'>,
  { id, action, event }: Pick<DeliveryRecord, 'id' | 'action' | 'event'>,
): Payload {
  const visible = (providerId: string | null, providerName: string | null, path: string | null) =>
    providerId !== null && isVisible(location, { providerId, path }) ? { providerId, providerName, path } : null
  const { userId, credentialId, credentialKind, subjectKind, subjectId } = event
  return {
    type: typeOf(action),
    timestamp: new Date(event.at).toISOString(),
    data: {
      id,
      user: userId === null ? null : { id: userId, name: event.userName, email: event.userEmail },
      credential: credentialId === null || credentialKind === null ? null : { kind: credentialKind, id: credentialId },
      location: visible(event.providerId, event.providerName, event.path),
      to: visible(event.toProviderId, event.toProviderName, event.toPath),
      subject: subjectId === null || subjectKind === null ? null : { kind: subjectKind, id: subjectId },
      bytes: event.bytes,
      job: action === 'JOB_END' ? jobOf(event.details) : null,
    },
  }
}

function isVisible(
  within: WebhookRecord['location'],
  { providerId, path }: { providerId: string; path: string | null },
): boolean {
  if (within === null) return true
  return within.providerId === providerId && isWithin(parsePath(path ?? '/'), parsePath(within.path))
}

function jobOf({ kind, state, files, skipped, deleted, failed }: Record<string, unknown>): Record<string, unknown> {
  return { kind, state, files, skipped, deleted, failed }
}
