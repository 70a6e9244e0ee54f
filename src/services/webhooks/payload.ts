import { accessTo, allProviders, includesPath } from '../../auth/access.ts'
import { parsePath } from '../../auth/path.ts'
import type { DeliveryRecord, WebhookRecord } from '../../db/webhooks/record.ts'
import { hasVisibleSources } from '../audit/visible-sources.ts'
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
