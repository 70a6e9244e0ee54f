/** Events that nobody waits for: gathered, and written together. */
import { type AuditEvent, insertAuditEvents } from '../db/audit-events.ts'
import type { Database } from '../db/client.ts'
import { toAppError } from '../errors.ts'

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
/** Events that failed, from one credential or address within one delay; more are counted without their places. */
const maxFailuresApart = 100
/** Times that a batch is tried where the database does answer. */
const maxAttempts = 3
/** Milliseconds. */
const closeTime = 2000

export interface LostEvents {
  /** How many of each action. */
  lost: Record<string, number>
  err?: unknown
}

export function createAuditQueue(db: Database, onLoss: (loss: LostEvents) => void): AuditQueue {
  let waiting: AuditEvent[] = []
  let weight = 0
  /** By what they have in common: those that wait and can take in others. */
  const alike = new Map<string, AuditEvent>()
  const failures = new Map<string, number>()
  let attempts = 0
  let isClosed = false
  let noRoom = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()

  function put(event: AuditEvent): void {
    const size = weigh(event)
    if (isClosed) {
      reportLoss(countActions([event]))
      return
    }
    if (weight + size > maxWaiting) {
      noRoom.set(event.action, (noRoom.get(event.action) ?? 0) + event.count)
      return
    }
    weight += size
    waiting.push(event)
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
        merge(withoutPlaces(event))
        return
      }
    }
    alike.set(key, event)
    put(event)
  }

  function reportLoss(lost: ReadonlyMap<string, number>, err?: unknown): void {
    if (lost.size > 0) onLoss({ lost: Object.fromEntries(lost), ...(err !== undefined && { err }) })
  }

  /** True where all is written, false where it is to be tried again later. */
  async function write(): Promise<boolean> {
    alike.clear()
    failures.clear()
    const full = noRoom
    noRoom = new Map()
    reportLoss(full)
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchSize)
      try {
        await insertAuditEvents(db, batch)
      } catch (error) {
        // The statement can be repeated: what was written, although its answer is lost, stays once.
        attempts += 1
        if (toAppError(error).reason === 'UNAVAILABLE' || attempts < maxAttempts) return false
        reportLoss(countActions(batch), error)
      }
      attempts = 0
      waiting = waiting.slice(batch.length)
      for (const event of batch) weight -= weigh(event)
      // What came meanwhile may be counted in events that have just been written.
      alike.clear()
    }
    return true
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

  return {
    add(event) {
      if (event.result !== 'OK' || event.action === 'DOWNLOAD') merge(event)
      else put(event)
      schedule()
    },
    flush,
    async close() {
      const late = Promise.withResolvers<void>()
      const tooLong = setTimeout(late.resolve, closeTime)
      await Promise.race([flush().then(() => (waiting.length > 0 ? flush() : undefined)), late.promise])
      clearTimeout(tooLong)
      clearTimeout(timer)
      isClosed = true
      reportLoss(countActions(waiting))
    },
  }
}

function withoutPlaces(event: AuditEvent): AuditEvent {
  const place = { providerId: null, providerName: null, path: null }
  const to = { toProviderId: null, toProviderName: null, toPath: null }
  return { ...event, ...place, ...to, subjectKind: null, subjectId: null, details: { placesLeftOut: true } }
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
