/**
 * Bounds how many events failures write, so that no client can make the audit log grow without bound. A credential names
 * at most 100 locations of failures in one batch. Failures through share links, which anybody with the link can cause, are counted
 * together beyond the first ones of a window. Infected files have bounds of their own, so that no other failure hides them, and keep
 * the names of their signatures. Failures without a credential have one event per account or email that a
 * network tries, then one per network, and finally one per kind of failure; existing accounts have separate bounds, so
 * that invented emails never hide them.
 */
import { networkOf } from '../../auth/network.ts'
import type { AuditEvent } from '../../db/audit-events.ts'
import { Counts } from '../../lib/counts.ts'

/** The maximum number of events per batch and credential that name their locations, of infected files and of other failures. */
const maxInBatch = 100

export class BatchFailures {
  readonly #named = new Counts<string>()

  /** Returns the event, without its locations if the credential has failed too often. */
  limit(event: AuditEvent): AuditEvent {
    if (!isFailure(event)) return event
    const key = event.credentialId ?? event.address
    return this.#named.add(JSON.stringify([key, signatureOf(event) !== null])) <= maxInBatch
      ? event
      : withoutLocations(event)
  }

  endBatch(): void {
    this.#named.clear()
  }
}

/** A download that the client ended is not a failure: it was allowed. */
function isFailure({ action, result }: AuditEvent): boolean {
  return result !== 'OK' && !(result === 'CUT' && action === 'DOWNLOAD')
}

/** Removes what can differ between the failures of a credential, so that they can be counted together. */
function withoutLocations(event: AuditEvent): AuditEvent {
  const location = { providerId: null, providerName: null, path: null }
  const to = { toProviderId: null, toProviderName: null, toPath: null }
  const subject = { subjectKind: null, subjectId: null }
  const address = networkOf(event.address)
  const signature = signatureOf(event)
  const details = { locationsLeftOut: true, ...(signature !== null && { signature }) }
  return { ...event, ...location, ...to, ...subject, address, details }
}

/** Returns what the virus scanner found. */
function signatureOf({ details }: AuditEvent): string | null {
  return typeof details.signature === 'string' ? details.signature : null
}

/** Milliseconds from the first failure. */
const windowOfShare = 10 * 60_000
/** The maximum number of events per window and share that name their locations. */
const maxOfShare = 10
/** The same for infected files, each of which costs a scan. */
const maxInfectedOfShare = 100
/** The maximum number of signatures per window and share beyond these. The others are counted together. */
const maxSignatures = 20
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
  readonly #named = new Counts<string>()
  readonly #signatures = new Counts<string>()
  readonly #rows = new Map<string, CountedFailures>()
  readonly #grown = new Set<CountedFailures>()
  #windowEnd = Number.NEGATIVE_INFINITY

  /** Counts a failure. Returns an event to write, or null if an earlier event of the window counts it. */
  add(failure: AuditEvent): AuditEvent | null {
    const { action, result, credentialId, at, address } = failure
    if (at.getTime() >= this.#windowEnd) this.#begin(at)
    const share = credentialId ?? ''
    const signature = signatureOf(failure)
    const named = this.#named.add(JSON.stringify([share, signature !== null]))
    if (named <= (signature === null ? maxOfShare : maxInfectedOfShare)) return failure
    const rowOf = (name: string | null) => JSON.stringify([share, action, result, name])
    const isCounted = signature !== null && !this.#rows.has(rowOf(signature))
    const isOneTooMany = isCounted && this.#signatures.add(share) > maxSignatures
    const key = rowOf(isOneTooMany ? null : signature)
    const known = this.#rows.get(key)
    if (!known) {
      const event = withoutLocations(failure)
      if (isOneTooMany) event.details = { locationsLeftOut: true }
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
    this.#windowEnd = at.getTime() + windowOfShare
    this.#named.clear()
    this.#signatures.clear()
    this.#rows.clear()
  }
}

/** Milliseconds from the first failure. */
const windowLength = 10 * 60_000
/** The maximum number of events per window and network that name an account or an email. */
const maxOfNetwork = 10
/** The maximum number of events per window and level. */
const maxOfLevel = 100
/** The highest count of distinct emails or networks in an event. */
const maxDistinct = 100

export interface AnonymousFailures {
  /** Counts a failure. Returns an event to write, or null if an earlier event of the window counts it. */
  add(failure: AuditEvent): AuditEvent | null
  /** Returns events whose counts increased since the last call. They replace the written ones. */
  grown(): AuditEvent[]
}

type Level = 'account at network' | 'account' | 'email at network' | 'network' | 'rest'

interface Row {
  level: Level
  event: AuditEvent
  emails: Set<string>
  networks: Set<string>
}

/** Returns whether a client without a credential caused the failure. */
export function isAnonymous({ result, credentialId, userId, address }: AuditEvent): boolean {
  return result !== 'OK' && credentialId === null && userId === null && address !== ''
}

export function createAnonymousFailures(): AnonymousFailures {
  let endsAt = Number.NEGATIVE_INFINITY
  const rows = new Map<string, Row>()
  const rowsOfLevel = new Counts<Level>()
  const namedOfNetwork = new Counts<string>()
  const grown = new Set<Row>()

  function begin(now: number): void {
    endsAt = now + windowLength
    for (const each of [rows, rowsOfLevel, namedOfNetwork]) each.clear()
  }

  function hasRoom(level: Level, network: string): boolean {
    if (level === 'rest') return true
    if (rowsOfLevel.get(level) >= maxOfLevel) return false
    return !isNamed(level) || namedOfNetwork.get(budgetOf(level, network)) < maxOfNetwork
  }

  function open(level: Level, network: string, failure: AuditEvent): Row {
    rowsOfLevel.add(level)
    if (isNamed(level)) namedOfNetwork.add(budgetOf(level, network))
    return { level, event: { ...failure, count: 0 }, emails: new Set(), networks: new Set() }
  }

  return {
    add(failure) {
      const now = failure.at.getTime()
      if (now >= endsAt) begin(now)
      const network = networkOf(failure.address)
      const levels = levelsOf(failure, network)
      const found = levels.find(([level, key]) => rows.has(key) || hasRoom(level, network))
      if (!found) throw new Error('The last level is unbounded')
      const [level, key] = found
      const known = rows.get(key)
      const row = known ?? open(level, network, failure)
      rows.set(key, row)
      row.event.count += failure.count
      note(row.networks, network)
      if (typeof failure.details.email === 'string') note(row.emails, failure.details.email)
      if (!known) return toEvent(row, failure)
      row.event.details = { ...row.event.details, until: failure.at.toISOString() }
      grown.add(row)
      return null
    },

    grown() {
      const events = [...grown].map(row => toEvent(row, row.event))
      grown.clear()
      return events
    },
  }
}

/** Returns levels from the most to the least exact. */
function levelsOf({ action, result, subjectId, details }: AuditEvent, network: string): [Level, string][] {
  const key = (level: Level, ...parts: unknown[]): [Level, string] => [
    level,
    JSON.stringify([level, action, result, ...parts]),
  ]
  const exact =
    subjectId === null
      ? [key('email at network', network, details.email), key('network', network)]
      : [key('account at network', network, subjectId), key('account', subjectId)]
  return [...exact, key('rest')]
}

function isNamed(level: Level): boolean {
  return level === 'account at network' || level === 'email at network'
}

function budgetOf(level: Level, network: string): string {
  return `${level} ${network}`
}

/** Returns the event to write. Fields that differ between its failures are omitted or counted. */
function toEvent({ level, event, emails, networks }: Row, { details }: AuditEvent): AuditEvent {
  if (isNamed(level)) return { ...event, details: { ...details } }
  const { email, until } = details
  return {
    ...event,
    ...(level === 'rest' && { subjectKind: null, subjectId: null }),
    details: {
      ...(level === 'account' ? { email } : { emails: emails.size }),
      ...(level !== 'network' && { networks: networks.size }),
      ...(until !== undefined && { until }),
    },
  }
}

function note(known: Set<string>, text: string): void {
  if (known.size < maxDistinct) known.add(text)
}
