/** Events that nobody waits for: gathered, and written together. */
import type { AuditEvent } from '../../db/audit-events.ts'
import type { Database } from '../../db/client.ts'
import { withTimeout } from '../../timeout.ts'
import { createStrangerEvents, isStrangers } from './strangers.ts'
import { type Unwritable, writeEvents } from './writer.ts'

export interface AuditQueue {
  /** Takes no time and never fails; what finds no room is lost, and the log has how many. */
  add(event: AuditEvent): void
  /** Resolves once what was added before has been written, or could not be. */
  flush(): Promise<void>
  /** Writes what is still to be written, for some seconds; the rest is lost. */
  close(): Promise<void>
}

/** Milliseconds that an event waits for others. */
const writeDelay = 1000
/** Rows of one statement. */
const batchSize = 1000
/** UTF-16 code units, about; with the objects around them, some 50 MB. */
const maxWaiting = 16 * 1024 * 1024
/** Milliseconds between two writes of an event whose count grows. */
const recountDelay = 10_000
/** Events that failed, from one credential within one delay; more are counted without their places. */
const maxFailuresApart = 100
/** Times that the database may refuse an event, a delay apart, before it counts as lost. */
const maxAttempts = 3
/** Milliseconds. */
const closeTime = 2000

export interface LostEvents {
  /** How many of each action. */
  lost: Record<string, number>
  /** The event itself, where the database refuses it. */
  event?: AuditEvent
  err?: unknown
}

export function createAuditQueue(db: Database, onLoss: (loss: LostEvents) => void): AuditQueue {
  /** By id: what takes the place of an event that waits is written instead. */
  const waiting = new Map<string, AuditEvent>()
  let weight = 0
  /** By what they have in common: those that wait and can take in others. */
  const alike = new Map<string, AuditEvent>()
  const failures = new Map<string, number>()
  const strangers = createStrangerEvents()
  /** By id of an event that the database has refused: how often. */
  const refusals = new Map<string, number>()
  let isClosed = false
  let noRoom = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let recountTimer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()

  function put(event: AuditEvent): void {
    if (isClosed) {
      reportLoss(countActions([event]))
      return
    }
    remove(waiting.get(event.id))
    const size = weigh(event)
    if (weight + size > maxWaiting) {
      noRoom.set(event.action, (noRoom.get(event.action) ?? 0) + event.count)
      return
    }
    weight += size
    waiting.set(event.id, event)
  }

  /** Nothing, if another event has taken its place. */
  function remove(event: AuditEvent | undefined): void {
    if (event && waiting.get(event.id) === event && waiting.delete(event.id)) weight -= weigh(event)
  }

  function merge(event: AuditEvent): void {
    const key = likeness(event)
    const known = alike.get(key)
    if (known) {
      known.count += event.count
      if (event.bytes !== null) known.bytes = (known.bytes ?? 0) + event.bytes
      return
    }
    if (event.result !== 'OK' && event.action !== 'DOWNLOAD') {
      const source = event.credentialId ?? event.address
      const count = (failures.get(source) ?? 0) + 1
      failures.set(source, count)
      if (count > maxFailuresApart && !event.details.placesLeftOut) {
        merge(withoutLocations(event))
        return
      }
    }
    alike.set(key, event)
    put(event)
  }

  function reportLoss(lost: ReadonlyMap<string, number>, details: Omit<LostEvents, 'lost'> = {}): void {
    if (lost.size > 0) onLoss({ lost: Object.fromEntries(lost), ...details })
  }

  /** True where the event is to be tried again. */
  function isRetried({ event, error }: Unwritable): boolean {
    const count = (refusals.get(event.id) ?? 0) + 1
    refusals.set(event.id, count)
    if (count < maxAttempts) return true
    refusals.delete(event.id)
    reportLoss(countActions([event]), { event, err: error })
    return false
  }

  /** True where all is written, false where some of it is to be tried again later. */
  async function write(): Promise<boolean> {
    failures.clear()
    const full = noRoom
    noRoom = new Map()
    reportLoss(full)
    const retried: AuditEvent[] = []
    while (waiting.size > 0) {
      // From here on, no event is counted in one that is being written.
      alike.clear()
      const batch = [...waiting.values()].slice(0, batchSize)
      const refused = await writeEvents(db, batch).catch(() => null)
      if (!refused) break
      for (const event of batch) remove(event)
      retried.push(...refused.filter(isRetried).map(({ event }) => event))
    }
    for (const event of retried) if (!waiting.has(event.id)) put(event)
    return waiting.size === 0
  }

  function putGrown(): void {
    clearTimeout(recountTimer)
    recountTimer = undefined
    for (const event of strangers.grown()) put(event)
  }

  function addStrangers(event: AuditEvent): void {
    const first = strangers.add(event)
    if (first) put(first)
    else {
      recountTimer ??= setTimeout(() => {
        putGrown()
        schedule()
      }, recountDelay).unref()
    }
  }

  function schedule(): void {
    timer ??= setTimeout(flush, writeDelay).unref()
  }

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(async () => {
      if (!(await write()) && !isClosed) schedule()
    })
    return writing
  }

  function flushAll(): Promise<void> {
    putGrown()
    return flush()
  }

  return {
    add(event) {
      if (isStrangers(event)) addStrangers(event)
      else if (event.result !== 'OK' || event.action === 'DOWNLOAD') merge(event)
      else put(event)
      schedule()
    },
    flush: flushAll,
    async close() {
      const written = flushAll().then(() => (waiting.size > 0 ? flush() : undefined))
      // What is still unwritten after the timeout is reported below.
      await withTimeout(written, closeTime, () => new Error('The database does not answer in time.')).catch(() => {})
      clearTimeout(timer)
      isClosed = true
      reportLoss(countActions([...waiting.values()]))
    },
  }
}

function withoutLocations(event: AuditEvent): AuditEvent {
  const location = { providerId: null, providerName: null, path: null }
  const to = { toProviderId: null, toProviderName: null, toPath: null }
  return { ...event, ...location, ...to, subjectKind: null, subjectId: null, details: { placesLeftOut: true } }
}

/** What events that are written as one have in common. */
function likeness({
  id: _id,
  at: _at,
  requestId: _requestId,
  bytes: _bytes,
  count: _count,
  ...rest
}: AuditEvent): string {
  return JSON.stringify(rest)
}

function weigh({ path, toPath, details }: AuditEvent): number {
  return 500 + (path?.length ?? 0) + (toPath?.length ?? 0) + JSON.stringify(details).length
}

function countActions(events: readonly AuditEvent[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { action, count } of events) counts.set(action, (counts.get(action) ?? 0) + count)
  return counts
}
