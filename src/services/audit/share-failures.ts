/**
 * Counts failures through share links together, because strangers can have a link. The first failures of a share in a window have
 * events of their own; beyond them, there is one event per share, action and result.
 */
import { networkOf } from '../../auth/network.ts'
import type { AuditEvent } from '../../db/audit-events.ts'
import { isFailure, withoutLocations } from './batch-failures.ts'

/** Milliseconds from the first failure. */
const windowLength = 10 * 60_000
/** The maximum number of events per window and share that name their locations. */
const maxNamed = 10
/** The highest count of distinct networks in an event. */
const maxNetworks = 100

interface CountedFailures {
  event: AuditEvent
  networks: Set<string>
}

export function isOfShare(event: AuditEvent): boolean {
  return event.credentialKind === 'SHARE' && isFailure(event)
}

export class ShareFailures {
  readonly #named = new Map<string, number>()
  readonly #rows = new Map<string, CountedFailures>()
  readonly #grown = new Set<CountedFailures>()
  #windowEnd = Number.NEGATIVE_INFINITY

  /** Counts a failure. Returns an event to write, or null if an earlier event of the window counts it. */
  add(failure: AuditEvent): AuditEvent | null {
    const { action, result, credentialId, at, address } = failure
    if (at.getTime() >= this.#windowEnd) this.#begin(at)
    const share = credentialId ?? ''
    const named = this.#named.get(share) ?? 0
    this.#named.set(share, named + 1)
    if (named < maxNamed) return failure
    const key = JSON.stringify([share, action, result])
    const known = this.#rows.get(key)
    if (!known) {
      const event = withoutLocations(failure)
      this.#rows.set(key, { event, networks: new Set([event.address]) })
      return { ...event }
    }
    const { event, networks } = known
    event.count += failure.count
    if (networks.size < maxNetworks) networks.add(networkOf(address))
    event.details = { ...event.details, networks: networks.size, until: at.toISOString() }
    this.#grown.add(known)
    return null
  }

  /** Returns events whose counts increased since the last call. They replace the written ones. */
  grown(): AuditEvent[] {
    const events = [...this.#grown].map(({ event }) => ({ ...event }))
    this.#grown.clear()
    return events
  }

  #begin(at: Date): void {
    this.#windowEnd = at.getTime() + windowLength
    this.#named.clear()
    this.#rows.clear()
  }
}
