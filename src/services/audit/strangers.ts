/**
 * Counts failures without a credential together, so that clients without one cannot make the log grow without bound. A
 * window has one event per account or email that a network tries, up to a bound; beyond it one per network, and finally one
 * per kind of failure. Existing accounts have separate bounds, so that invented emails never hide them.
 */
import { networkOf } from '../../auth/network.ts'
import type { AuditEvent } from '../../db/audit-events.ts'

/** Milliseconds from the first failure. */
const windowLength = 10 * 60_000
/** The maximum number of events per window and network that name an account or an email. */
const maxOfNetwork = 10
/** The maximum number of events per window and level. */
const maxOfLevel = 100
/** The highest count of distinct emails or networks in an event. */
const maxDistinct = 100

export interface StrangerEvents {
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
export function isStrangers({ result, credentialId, userId, address }: AuditEvent): boolean {
  return result !== 'OK' && credentialId === null && userId === null && address !== ''
}

export function createStrangerEvents(): StrangerEvents {
  let endsAt = Number.NEGATIVE_INFINITY
  const rows = new Map<string, Row>()
  const rowsOfLevel = new Map<Level, number>()
  const namedOfNetwork = new Map<string, number>()
  const grown = new Set<Row>()

  function begin(now: number): void {
    endsAt = now + windowLength
    for (const each of [rows, rowsOfLevel, namedOfNetwork]) each.clear()
  }

  function hasRoom(level: Level, network: string): boolean {
    if (level === 'rest') return true
    if ((rowsOfLevel.get(level) ?? 0) >= maxOfLevel) return false
    return !isNamed(level) || (namedOfNetwork.get(budgetOf(level, network)) ?? 0) < maxOfNetwork
  }

  function open(level: Level, network: string, failure: AuditEvent): Row {
    increase(rowsOfLevel, level)
    if (isNamed(level)) increase(namedOfNetwork, budgetOf(level, network))
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

function increase<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
