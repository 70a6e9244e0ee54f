/** The audit log: who did what to what, with which credential, from where, and how it ended. */
import { isId } from '../../auth/id.ts'
import { parsePath } from '../../auth/path.ts'
import { grantAudit, requireUndiminished } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import {
  type AuditEvent,
  type AuditFilter,
  changeWithEvent,
  deleteAuditEventsBefore,
  listAuditEvents,
} from '../../db/audit-events.ts'
import type { Change, Database } from '../../db/client.ts'
import type { AuditAction } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import { parsePageSize } from '../input.ts'
import type { Credentials } from '../people/credentials.ts'
import { type AuditFacts, createEvent, resultOf, type Stranger } from './event.ts'
import { createAuditQueue, type LostEvents } from './queue.ts'

export type { AuditFacts } from './event.ts'

/** An action under way. */
export interface Recording {
  /** What becomes known of it; details are added to those that are there. */
  add(facts: AuditFacts): void
  /**
   * Changes the database, with the event of it in the same transaction: both or neither. At most once, and only where
   * whoever does it reaches no less than when it began. @throws EXCEEDS_OWN_REACH, as `Credentials.confirm`
   */
  commit<T>(change: (change: Change) => Promise<T>): Promise<T>
}

export interface AuditQuery {
  userId?: string | null | undefined
  credentialId?: string | null | undefined
  providerId?: string | null | undefined
  pathPrefix?: string | null | undefined
  action?: AuditAction | null | undefined
  result?: string | null | undefined
  since?: Date | null | undefined
  until?: Date | null | undefined
}

/** Of what this server does by itself. */
const ownOrigin = { address: '', requestId: '' }
const maxPage = 200
const day = 24 * 60 * 60 * 1000
/** Rows that are removed at a time, so that nobody waits long for a lock. */
const sweepSize = 5000

export type Audit = ReturnType<typeof createAudit>

export function createAudit({
  db,
  credentials,
  keepDays,
  onLoss,
}: {
  db: Database
  credentials: Pick<Credentials, 'confirm'>
  /** Days; 0 is for good. */
  keepDays: number
  onLoss: (loss: LostEvents) => void
}) {
  const queue = createAuditQueue(db, onLoss)
  /** Errors that an event tells of already. */
  const told = new WeakSet<Error>()

  return {
    /**
     * Does something that leaves an event, however it ends. Without `commit`, and where it fails, the event follows within
     * a second: nothing waits for it. Of somebody without any credential only what a `Stranger` does is told.
     */
    async recorded<T>(
      by: Viewer | Stranger | null,
      action: AuditAction,
      given: AuditFacts,
      work: (recording: Recording) => Promise<T>,
    ): Promise<T> {
      let facts = given
      let isWritten = false
      const event = (by: Viewer | Stranger) => createEvent(by, action, facts, 'OK')
      const recording: Recording = {
        add(more) {
          facts = { ...facts, ...more, details: { ...facts.details, ...more.details } }
        },
        async commit(change) {
          if (!by) throw new Error(`Nobody is known who does ${action}`)
          if ('member' in by) requireUndiminished(by, await credentials.confirm(by))
          const result = await changeWithEvent(db, change, () => event(by))
          isWritten = true
          return result
        },
      }
      try {
        const result = await work(recording)
        if (by && !isWritten) queue.add(event(by))
        return result
      } catch (error) {
        if (by && !isWritten) queue.add(createEvent(by, action, facts, resultOf(error)))
        if (error instanceof Error) told.add(error)
        throw error
      }
    },

    /** What the back end or this server did already, which nobody waits for. */
    note(viewer: Viewer, action: AuditAction, facts: AuditFacts, error?: unknown): void {
      queue.add(createEvent(viewer, action, facts, error === undefined ? 'OK' : resultOf(error)))
      if (error instanceof Error) told.add(error)
    },

    /** What somebody began and nobody ended; `null` is this server itself. */
    noteUnfinished(viewer: Viewer | null, action: AuditAction, facts: AuditFacts): void {
      queue.add(createEvent(viewer ?? { origin: ownOrigin }, action, facts, 'CUT'))
    },

    /** What a front end refused to a credential before it called a service, or while it only read. */
    noteRefusal(viewer: Viewer | null, action: AuditAction, facts: AuditFacts, error: AppError): void {
      if (!viewer || isTold(error)) return
      queue.add(createEvent(viewer, action, facts, error.reason))
    },

    /**
     * The newest first. A credential that does not reach everything sees events in places that it reaches, and no others.
     * @throws SCOPE_REQUIRED, INVALID_INPUT, INVALID_PATH, INVALID_CURSOR
     */
    async list(
      viewer: Viewer | null,
      query: AuditQuery,
      page: { first: number; after?: string | null | undefined },
    ): Promise<{ items: { event: AuditEvent; cursor: string }[]; hasNext: boolean }> {
      const reach = grantAudit(viewer)
      const limit = parsePageSize(page.first, maxPage)
      const before = page.after == null ? null : decodeCursor(page.after)
      const found = await listAuditEvents(db, reach, parseFilter(query), { limit: limit + 1, before })
      const items = found.slice(0, limit).map(event => ({ event, cursor: encodeCursor(event.id) }))
      return { items, hasNext: found.length > limit }
    },

    /** Removes what is older than it is kept, until the signal ends it. */
    async sweep(signal: AbortSignal): Promise<void> {
      if (keepDays === 0) return
      const oldest = new Date(Date.now() - keepDays * day)
      while (!signal.aborted) {
        if ((await deleteAuditEventsBefore(db, oldest, sweepSize)) < sweepSize) return
      }
    },

    flush: () => queue.flush(),
    close: () => queue.close(),
  }

  /** An entrance may have put it into an error of its own. */
  function isTold(error: unknown): boolean {
    for (let each = error; each instanceof Error; each = each.cause) if (told.has(each)) return true
    return false
  }
}

/** @throws INVALID_INPUT, INVALID_PATH */
function parseFilter({ pathPrefix, providerId, ...query }: AuditQuery): AuditFilter {
  if (pathPrefix != null && providerId == null) {
    throw new AppError('INVALID_INPUT', 'A path is one in a provider: give "providerId" beside "pathPrefix".')
  }
  const place = providerId == null ? null : { providerId: idOf(providerId), within: parsePath(pathPrefix ?? '/') }
  return {
    ...(place && { place }),
    ...(query.userId != null && { userId: idOf(query.userId) }),
    ...(query.credentialId != null && { credentialId: idOf(query.credentialId) }),
    ...(query.action != null && { action: query.action }),
    ...(query.result != null && { result: query.result }),
    ...(query.since != null && { since: query.since }),
    ...(query.until != null && { until: query.until }),
  }
}

/** @throws INVALID_INPUT */
function idOf(text: string): string {
  if (!isId(text)) throw new AppError('INVALID_INPUT', `"${text.slice(0, 50)}" is no id.`)
  return text
}

function encodeCursor(id: string): string {
  return Buffer.from(id).toString('base64url')
}

/** @throws INVALID_CURSOR */
function decodeCursor(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString()
  if (!isId(id) || encodeCursor(id) !== cursor) throw new AppError('INVALID_CURSOR')
  return id
}
