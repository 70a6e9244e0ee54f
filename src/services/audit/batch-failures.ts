/**
 * Limits how many failures of a credential name their locations in one batch of events. The others are counted without them, so
 * that a client which tries many locations cannot make the log grow without bound.
 */
import { networkOf } from '../../auth/network.ts'
import type { AuditEvent } from '../../db/audit-events.ts'

/** The maximum number of events per batch and credential that name their locations. */
const maxNamed = 100

export class BatchFailures {
  readonly #named = new Map<string, number>()

  /** Returns the event, without its locations if the credential has failed too often. */
  limit(event: AuditEvent): AuditEvent {
    if (!isFailure(event)) return event
    const key = event.credentialId ?? event.address
    const count = (this.#named.get(key) ?? 0) + 1
    this.#named.set(key, count)
    return count <= maxNamed ? event : withoutLocations(event)
  }

  endBatch(): void {
    this.#named.clear()
  }
}

/** A download that the client ended is not a failure: it was allowed. */
export function isFailure({ action, result }: AuditEvent): boolean {
  return result !== 'OK' && !(result === 'CUT' && action === 'DOWNLOAD')
}

/** Removes what can differ between the failures of a credential, so that they can be counted together. */
export function withoutLocations(event: AuditEvent): AuditEvent {
  const location = { providerId: null, providerName: null, path: null }
  const to = { toProviderId: null, toProviderName: null, toPath: null }
  const subject = { subjectKind: null, subjectId: null }
  const address = networkOf(event.address)
  return { ...event, ...location, ...to, ...subject, address, details: { locationsLeftOut: true } }
}
