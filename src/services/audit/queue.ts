/** Gathers audit events and writes them together in the background. */
import { type AuditEvent, insertAuditEvents } from '../../db/audit-events.ts'
import type { Database } from '../../db/client.ts'
import { toAppError } from '../../errors.ts'
import { Counts } from '../../lib/counts.ts'
import { withTimeout } from '../../lib/timeout.ts'
import {
  type AnonymousFailures,
  BatchFailures,
  createAnonymousFailures,
  isAnonymous,
  isOfShare,
  ShareFailures,
} from './failures.ts'
import type { RecentChanges } from './recent.ts'

interface AuditQueue {
  /** The number of waiting events. */
  readonly size: number
  /** Queues an event without waiting or failing. Events beyond the limit are lost, and their number is logged. */
  add(event: AuditEvent): void
  /** Resolves when all earlier events are written, or their write has failed. */
  flush(): Promise<void>
  /** Writes the remaining events for up to two seconds. The rest is lost. */
  close(): Promise<void>
}

/** Milliseconds that an event waits for others. */
const writeDelay = 1000
/** Rows of one statement. */
const batchSize = 1000
/**
 * The approximate maximum size of the waiting events, in UTF-16 code units. With the objects around them, they take
 * about 50 MB.
 */
const maxWaiting = 16 * 1024 * 1024
/** Milliseconds between two writes of an event whose count increases. */
const recountDelay = 10_000
/**
 * The number of attempts, one delay apart, to write an event that the database rejects. After them it counts as lost.
 */
const maxAttempts = 3
/** Milliseconds to write the remaining events on shutdown. */
const closeTime = 2000

export interface LostEvents {
  /** The number of lost events per action. */
  lost: Record<string, number>
  /** The event itself, if the database rejected it. */
  event?: AuditEvent
  err?: unknown
}

export function createAuditQueue(
  db: Database,
  recent: Pick<RecentChanges, 'note' | 'writing'>,
  onLoss: (loss: LostEvents) => void,
): AuditQueue {
  /** The waiting events by id. A new event replaces one with the same id. */
  const waiting = new Map<string, AuditEvent>()
  let weight = 0
  /** Waiting events that others can be merged into, by their common fields. */
  const alike = new Map<string, AuditEvent>()
  const batchFailures = new BatchFailures()
  const shareFailures = new ShareFailures()
  const anonymousFailures = createAnonymousFailures()
  /** The number of times that the database rejected each event, by id. */
  const refusals = new Counts<string>()
  let isClosed = false
  let noRoom = new Counts<string>()
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
      noRoom.add(event.action, event.count)
      return
    }
    weight += size
    waiting.set(event.id, event)
    recent.note(event)
  }

  /** Removes a waiting event unless another has replaced it. */
  function remove(event: AuditEvent | undefined): void {
    if (event && waiting.get(event.id) === event && waiting.delete(event.id)) weight -= weigh(event)
  }

  function merge(event: AuditEvent): void {
    const likenessOfEvent = likeness(event)
    if (increaseAlike(event, likenessOfEvent)) return
    const limited = batchFailures.limit(event)
    const likenessOfLimited = limited === event ? likenessOfEvent : likeness(limited)
    if (limited !== event && increaseAlike(limited, likenessOfLimited)) return
    alike.set(likenessOfLimited, limited)
    put(limited)
  }

  /** Returns whether a waiting event now counts this one too. */
  function increaseAlike(event: AuditEvent, likenessOfEvent: string): boolean {
    const known = alike.get(likenessOfEvent)
    if (!known) return false
    known.count += event.count
    if (event.bytes !== null) known.bytes = (known.bytes ?? 0) + event.bytes
    return true
  }

  function reportLoss(counts: Counts<string>, details: Omit<LostEvents, 'lost'> = {}): void {
    const lost = Object.fromEntries(counts)
    if (Object.keys(lost).length > 0) onLoss({ lost, ...details })
  }

  /** Returns whether to try the event again. */
  function isRetried({ event, error }: Unwritable): boolean {
    if (refusals.add(event.id) < maxAttempts) return true
    refusals.add(event.id, -maxAttempts)
    reportLoss(countActions([event]), { event, err: error })
    return false
  }

  /** Returns whether all events are written; otherwise try again later. */
  async function write(): Promise<boolean> {
    batchFailures.endBatch()
    const full = noRoom
    noRoom = new Counts()
    reportLoss(full)
    const retried: AuditEvent[] = []
    while (waiting.size > 0) {
      // Events that are being written must not change any more.
      alike.clear()
      const batch = [...waiting.values()].slice(0, batchSize)
      recent.writing(batch)
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
    for (const event of [...anonymousFailures.grown(), ...shareFailures.grown()]) put(event)
  }

  function count(counter: Pick<AnonymousFailures, 'add'>, event: AuditEvent): void {
    const first = counter.add(event)
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
    get size() {
      return waiting.size
    },
    add(event) {
      if (isAnonymous(event)) count(anonymousFailures, event)
      else if (isOfShare(event)) count(shareFailures, event)
      else if (event.result !== 'OK' || event.action === 'DOWNLOAD') merge(event)
      else put(event)
      schedule()
    },
    flush: flushAll,
    async close() {
      const written = flushAll().then(() => (waiting.size > 0 ? flush() : undefined))
      // Events that are still unwritten after the timeout are reported below.
      await withTimeout(written, closeTime, () => new Error('The database does not respond in time.')).catch(() => {})
      clearTimeout(timer)
      isClosed = true
      reportLoss(countActions([...waiting.values()]))
    },
  }
}

/** The fields that merged events have in common. */
const commonFields: Record<Exclude<keyof AuditEvent, 'id' | 'at' | 'requestId' | 'bytes' | 'count'>, true> = {
  workspaceId: true,
  action: true,
  result: true,
  userId: true,
  userEmail: true,
  userName: true,
  credentialKind: true,
  credentialId: true,
  credentialPrefix: true,
  address: true,
  providerId: true,
  providerName: true,
  path: true,
  toProviderId: true,
  toProviderName: true,
  toPath: true,
  subjectKind: true,
  subjectId: true,
  details: true,
}
const commonNames = Object.keys(commonFields) as (keyof typeof commonFields)[]

/** Returns a text that is the same for all events that can be merged. */
function likeness(event: AuditEvent): string {
  return JSON.stringify(commonNames.map(name => event[name]))
}

function weigh({ path, toPath, details }: AuditEvent): number {
  return 500 + (path?.length ?? 0) + (toPath?.length ?? 0) + JSON.stringify(details).length
}

function countActions(events: readonly AuditEvent[]): Counts<string> {
  const counts = new Counts<string>()
  for (const { action, count } of events) counts.add(action, count)
  return counts
}

interface Unwritable {
  event: AuditEvent
  error: unknown
}

/**
 * Writes events in one statement. If that fails, writes them in halves, down to the single events that fail, so that no
 * event is lost because of another. Safe to repeat: it does not change an event that is already written.
 * @returns the events that the database refuses
 * @throws if the database does not respond; then any of the events may be missing
 */
async function writeEvents(db: Database, events: readonly AuditEvent[]): Promise<Unwritable[]> {
  try {
    await insertAuditEvents(db, events)
    return []
  } catch (error) {
    if (toAppError(error).reason === 'UNAVAILABLE') throw error
    const [event, ...others] = events
    if (!event) return []
    if (others.length === 0) return [{ event, error }]
    const middle = Math.ceil(events.length / 2)
    const first = await writeEvents(db, events.slice(0, middle))
    return [...first, ...(await writeEvents(db, events.slice(middle)))]
  }
}
