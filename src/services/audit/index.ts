/** Records who did what, with which credential, from where, and with which result. */
import { isId } from '../../auth/id.ts'
import { parsePath } from '../../auth/path.ts'
import { grantAudit, requireUndiminished } from '../../auth/policy.ts'
import { ownOrigin, type Viewer } from '../../auth/viewer.ts'
import {
  type AuditEvent,
  type AuditFilter,
  changeWithEvent,
  deleteAuditEventsBefore,
  insertAuditEvents,
  listAuditEvents,
} from '../../db/audit-events.ts'
import type { Change, Database } from '../../db/client.ts'
import type { AuditAction, AuditResult } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import { parsePageSize } from '../input.ts'
import { encodeIdCursor, visiblePage } from '../paging.ts'
import type { Credentials } from '../people/credentials.ts'
import { type AnonymousClient, type AuditFacts, createEvent, hasVisibleSources, resultOf } from './event.ts'
import { createAuditQueue, type LostEvents } from './queue.ts'
import { RecentChanges } from './recent.ts'
import { RunningActions } from './running.ts'

export type { AuditFacts } from './event.ts'

/** An action in progress. */
export interface Recording {
  /** Adds facts about the action. Details are merged. */
  add(facts: AuditFacts): void
  /** Names the action that it turns out to be. */
  become(action: AuditAction): void
  /**
   * Changes the database and writes the event in one transaction. Call this at most once. The viewer must have lost no
   * access since the action began. @throws EXCEEDS_OWN_REACH, as `Credentials.confirm`
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

const maxPage = 200
const day = 24 * 60 * 60 * 1000
/** The number of rows deleted per statement, which is low so that locks are short. */
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
  /** Days; 0 keeps events forever. */
  keepDays: number
  onLoss: (loss: LostEvents) => void
}) {
  const recent = new RecentChanges()
  const queue = createAuditQueue(db, recent, onLoss)
  const running = new RunningActions()
  /** Errors that are recorded already. */
  const recordedErrors = new WeakSet<Error>()

  return {
    /**
     * Runs an action and records it, whether it succeeds or fails. Without `commit`, or after a failure, the event is written
     * in the background within a second. Without a credential, only actions of a `AnonymousClient` are recorded.
     */
    async recorded<T>(
      by: Viewer | AnonymousClient | null,
      action: AuditAction,
      given: AuditFacts,
      work: (recording: Recording) => Promise<T>,
    ): Promise<T> {
      let [facts, done] = [given, action]
      let isWritten = false
      const event = (by: Viewer | AnonymousClient) => createEvent(by, done, facts, 'OK')
      const recording: Recording = {
        add(more) {
          facts = { ...facts, ...more, details: { ...facts.details, ...more.details } }
        },
        become(action) {
          done = action
        },
        async commit(change) {
          if (!by) throw new Error(`No actor is known for ${action}`)
          if ('member' in by) requireUndiminished(by, await credentials.confirm(by))
          const result = await changeWithEvent(db, change, () => event(by))
          isWritten = true
          return result
        },
      }
      const end = running.begin(action, () => facts)
      try {
        const result = await work(recording)
        if (by && !isWritten) queue.add(event(by))
        return result
      } catch (error) {
        if (by && !isWritten) queue.add(createEvent(by, done, facts, resultOf(error)))
        if (error instanceof Error) recordedErrors.add(error)
        throw error
      } finally {
        end()
      }
    },

    /** Returns where entries are changed by actions that take long, or have ended just now. */
    runningChanges: () => running.list(),

    /** See `RecentChanges`. */
    recentChanges: recent,

    /** Records an action that is done already, in the background. */
    note(viewer: Viewer, action: AuditAction, facts: AuditFacts, error?: unknown): void {
      queue.add(createEvent(viewer, action, facts, error === undefined ? 'OK' : resultOf(error)))
      if (error instanceof Error) recordedErrors.add(error)
    },

    /** Records an action that this server carries out for a user in the background. `facts` names the user. */
    noteOwn(action: AuditAction, facts: AuditFacts, result: AuditResult): void {
      queue.add(createEvent({ origin: ownOrigin }, action, facts, result))
    },

    /** Writes an event as `noteOwn` does, in the transaction of its change. */
    writeOwn(change: Change, action: AuditAction, facts: AuditFacts, result: AuditResult): Promise<void> {
      return insertAuditEvents(change, [createEvent({ origin: ownOrigin }, action, facts, result)])
    },

    /** Records an action that was never finished. A null viewer is this server itself. */
    noteUnfinished(viewer: Viewer | null, action: AuditAction, facts: AuditFacts): void {
      queue.add(createEvent(viewer ?? { origin: ownOrigin }, action, facts, 'CUT'))
    },

    /** Records a refusal by a front end, before it called a service or while it read. */
    noteRefusal(viewer: Viewer | null, action: AuditAction, facts: AuditFacts, error: AppError): void {
      if (!viewer || isRecorded(error)) return
      queue.add(createEvent(viewer, action, facts, error.reason))
    },

    /**
     * Lists events, newest first. A credential with restrictions sees only events whose locations it may all access.
     * @throws SCOPE_REQUIRED, INVALID_INPUT, INVALID_PATH, INVALID_CURSOR
     */
    async list(
      viewer: Viewer | null,
      query: AuditQuery,
      page: { first: number; after?: string | null | undefined },
    ): Promise<{ items: { event: AuditEvent; cursor: string }[]; hasNext: boolean; endCursor: string | null }> {
      const grant = grantAudit(viewer)
      const limit = parsePageSize(page.first, maxPage)
      const filter = parseFilter(query)
      const { rows, ...found } = await visiblePage(
        read => listAuditEvents(db, grant, filter, read),
        event => hasVisibleSources(event, grant.access),
        { limit, after: page.after },
      )
      return { ...found, items: rows.map(event => ({ event, cursor: encodeIdCursor(event.id) })) }
    },

    /** Deletes events past their retention, until the signal aborts. */
    async sweep(signal: AbortSignal): Promise<void> {
      if (keepDays === 0) return
      const oldest = new Date(Date.now() - keepDays * day)
      while (!signal.aborted) {
        if ((await deleteAuditEventsBefore(db, oldest, sweepSize)) < sweepSize) return
      }
    },

    /** Returns the number of events that wait to be written. */
    waiting: () => queue.size,
    flush: () => queue.flush(),
    close: () => queue.close(),
  }

  /** Returns whether an error, or one that it wraps, is recorded already. */
  function isRecorded(error: unknown): boolean {
    for (let each = error; each instanceof Error; each = each.cause) if (recordedErrors.has(each)) return true
    return false
  }
}

/** @throws INVALID_INPUT, INVALID_PATH */
function parseFilter({ pathPrefix, providerId, ...query }: AuditQuery): AuditFilter {
  if (pathPrefix != null && providerId == null) {
    throw new AppError('INVALID_INPUT', '"pathPrefix" needs a provider: give "providerId", too.')
  }
  const location = providerId == null ? null : { providerId: idOf(providerId), within: parsePath(pathPrefix ?? '/') }
  return {
    ...(location && { location }),
    ...(query.userId != null && { userId: idOf(query.userId) }),
    ...(query.credentialId != null && { credentialId: idOf(query.credentialId) }),
    ...(query.action != null && { action: query.action }),
    ...(query.result != null && { result: resultOfQuery(query.result) }),
    ...(query.since != null && { since: query.since }),
    ...(query.until != null && { until: query.until }),
  }
}

/** @throws INVALID_INPUT */
function idOf(text: string): string {
  if (!isId(text)) throw new AppError('INVALID_INPUT', `"${text.slice(0, 50)}" is not an id.`)
  return text
}

/** Accepts any reason, because the log can contain those of earlier versions. @throws INVALID_INPUT */
function resultOfQuery(text: string): string {
  if (!/^[A-Z_]{1,50}$/.test(text)) {
    throw new AppError('INVALID_INPUT', 'A result is OK, CUT or the reason of an error, such as NOT_FOUND.')
  }
  return text
}
