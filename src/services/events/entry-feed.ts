/**
 * Distributes changes of files to the subscriptions of this server. PostgreSQL notifies all servers of the ids of new audit
 * events. Each server reads a set of events with one query, whatever the number of subscriptions.
 */

import type { Grant } from '../../auth/policy.ts'
import { type AuditEvent, entryChannel, findAuditEvents } from '../../db/audit-events.ts'
import type { Database } from '../../db/client.ts'
import { findJobs } from '../../db/jobs/jobs.ts'
import type { ActiveGrants } from '../../storage/active-grants.ts'
import { OpenSubscriptions, stopping } from '../subscriptions/limits.ts'
import { createListener } from '../subscriptions/listener.ts'
import { changesOf } from './entry-change.ts'
import { EntrySubscription } from './entry-subscription.ts'

/** Events in one query. */
const batch = 500
/** The maximum number of events that wait to be read. Beyond it, each subscription gets one change of everything. */
const maxWaiting = 10_000

export interface EntryFeed {
  /**
   * Opens a subscription to locations. It begins with a TREE_CHANGED of each once changes are received.
   * @throws TOO_MANY_SUBSCRIPTIONS, UNAVAILABLE
   */
  open(grants: readonly [Grant<'read'>, ...Grant<'read'>[]], signal: AbortSignal): EntrySubscription
  /** Ends all subscriptions. */
  close(): Promise<void>
}

export function createEntryFeed(options: {
  db: Database
  activeGrants: ActiveGrants
  onError: (error: unknown) => void
}): EntryFeed {
  const { db, activeGrants, onError } = options
  const subscriptions = new Set<EntrySubscription>()
  const open = new OpenSubscriptions()
  const waiting = new Set<string>()
  let reading: Promise<void> | undefined
  let isListening = false
  let isClosed = false
  const listener = createListener(db, {
    channel: entryChannel,
    onNotification,
    onListening() {
      isListening = true
      invalidateAll()
    },
    onError,
    onStopped() {
      isListening = false
    },
  })

  /** Notifications from before, or whose events cannot be read, are lost. */
  function invalidateAll(): void {
    waiting.clear()
    for (const each of subscriptions) each.invalidate()
  }

  function onNotification(payload: string): void {
    if (subscriptions.size === 0) return
    for (const id of payload.split(',')) waiting.add(id)
    if (waiting.size > maxWaiting) invalidateAll()
    reading ??= readAll().finally(() => {
      reading = undefined
    })
  }

  async function readAll(): Promise<void> {
    while (waiting.size > 0 && !isClosed) {
      const ids = [...waiting].slice(0, batch)
      for (const id of ids) waiting.delete(id)
      try {
        await read(ids)
      } catch (error) {
        onError(error)
        invalidateAll()
      }
    }
  }

  async function read(ids: readonly string[]): Promise<void> {
    const events = await findAuditEvents(db, ids)
    const jobIds = events.flatMap(({ action, subjectId }) => (action === 'JOB_END' && subjectId ? subjectId : []))
    const jobs = new Map((await findJobs(db, jobIds)).map(job => [job.id, job]))
    for (const event of events) {
      for (const change of changesOf(event, jobs.get(event.subjectId ?? '') ?? null)) {
        for (const each of subscriptions) if (isOfWorkspace(each, event)) each.offer(change)
      }
    }
  }

  return {
    open(grants, signal) {
      if (isClosed) throw stopping()
      const place = open.add(grants[0].viewer)
      const work = activeGrants.register(grants, signal)
      const subscription = new EntrySubscription(grants, () => {
        place[Symbol.dispose]()
        work[Symbol.dispose]()
        subscriptions.delete(subscription)
        if (subscriptions.size === 0) listener.stopLater()
      })
      subscriptions.add(subscription)
      listener.start()
      if (isListening) subscription.invalidate()
      subscription.cancelWith(work.signal)
      return subscription
    },

    async close() {
      isClosed = true
      for (const each of subscriptions) each.cancel(stopping())
      await Promise.all([listener.stop(), reading])
    },
  }
}

function isOfWorkspace({ viewer }: EntrySubscription, event: AuditEvent): boolean {
  return viewer.member.workspaceId === event.workspaceId
}
