/**
 * Decides which failures of a credential have an event of their own. The others are counted without their locations, so that
 * a client which tries many locations cannot make the log grow without bound.
 */
import { networkOf } from '../../auth/network.ts'
import type { AuditEvent } from '../../db/audit-events.ts'

/** The maximum number per batch of a session or an API key. */
const maxOfBatch = 100
/** The maximum number per window of a share, because strangers can have its link. */
const maxOfShare = 10
/** Milliseconds from the first failure. */
const shareWindow = 10 * 60_000

export class FailuresApart {
  readonly #ofBatch = new Map<string, number>()
  readonly #ofShares = new Map<string, number>()
  #shareWindowEnd = Number.NEGATIVE_INFINITY

  /** Returns the event, without its locations if the credential has failed too often. */
  limit(event: AuditEvent): AuditEvent {
    if (event.result === 'OK' || event.result === 'CUT') return event
    const isApart = event.credentialKind === 'SHARE' ? this.#isShareApart(event) : this.#isBatchApart(event)
    return isApart ? event : withoutLocations(event)
  }

  endBatch(): void {
    this.#ofBatch.clear()
  }

  #isBatchApart({ credentialId, address }: AuditEvent): boolean {
    return increase(this.#ofBatch, credentialId ?? address) <= maxOfBatch
  }

  #isShareApart({ credentialId, at }: AuditEvent): boolean {
    const now = at.getTime()
    if (now >= this.#shareWindowEnd) {
      this.#shareWindowEnd = now + shareWindow
      this.#ofShares.clear()
    }
    return increase(this.#ofShares, credentialId ?? '') <= maxOfShare
  }
}

function withoutLocations(event: AuditEvent): AuditEvent {
  const location = { providerId: null, providerName: null, path: null }
  const to = { toProviderId: null, toProviderName: null, toPath: null }
  const subject = { subjectKind: null, subjectId: null }
  return {
    ...event,
    ...location,
    ...to,
    ...subject,
    address: networkOf(event.address),
    details: { placesLeftOut: true },
  }
}

function increase(counts: Map<string, number>, key: string): number {
  const count = (counts.get(key) ?? 0) + 1
  counts.set(key, count)
  return count
}
