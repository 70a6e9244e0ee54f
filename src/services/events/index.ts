/**
 * The changes of files that clients can follow as they happen. PostgreSQL notifies all servers of the ids of new audit
 * events, and of changes that others have made. Each server reads a set of events with one query, whatever the number of subscriptions, and each subscription
 * gets the changes in its folder.
 */
import { type Asked, authorizeFollowing, type needs } from '../../auth/needs.ts'
import { formatPath, isWithin, parsePath, type StoragePath } from '../../auth/path.ts'
import type { Grant } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import { type AuditEvent, entryChannel, findAuditEvents } from '../../db/audit-events.ts'
import { findPublished } from '../../db/catalogue/outside.ts'
import type { Database } from '../../db/client.ts'
import { findJobs, type JobRecord } from '../../db/jobs/jobs.ts'
import type { AuditAction } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import type { ActiveGrants } from '../../storage/active-grants.ts'
import type { Storage } from '../../storage/index.ts'
import { createListener, maxUnread, OpenSubscriptions, Subscription, stopping } from '../subscriptions/index.ts'

export const entryChangeKinds = ['WRITTEN', 'REMOVED', 'TREE_CHANGED'] as const
export type EntryChangeKind = (typeof entryChangeKinds)[number]

/** STOWAGE: through this server. OUTSIDE: by others, directly at the back end. */
export const changeOrigins = ['STOWAGE', 'OUTSIDE'] as const
export type ChangeOrigin = (typeof changeOrigins)[number]

interface EntryLocation {
  providerId: string
  path: StoragePath
}

export interface EntryChange extends EntryLocation {
  kind: EntryChangeKind
  origin: ChangeOrigin
  at: Date
}

/** The change at the first and at the second location of an event. */
const changesOfAction: Partial<Record<AuditAction, [EntryChangeKind | null, EntryChangeKind | null]>> = {
  UPLOAD: ['WRITTEN', null],
  FOLDER_CREATE: ['WRITTEN', null],
  RENAME: ['REMOVED', 'WRITTEN'],
  MOVE: ['REMOVED', 'WRITTEN'],
  COPY: [null, 'WRITTEN'],
  DELETE: ['REMOVED', null],
  RESTORE: ['WRITTEN', null],
}

/** @param job the job whose end the event records; null for other events, and if the job is deleted */
function changesOf(event: AuditEvent, job: JobRecord | null): EntryChange[] {
  const { action, at } = event
  if (action === 'JOB_END') return job ? changesOfJob(job, at) : []
  const [kind, toKind] = changesOfAction[action] ?? [null, null]
  return [
    ...changeAt(kind, event.providerId, event.path, at),
    ...changeAt(toKind, event.toProviderId, event.toPath, at),
  ]
}

function changesOfJob({ kind, dryRun, sources, target, keeping }: JobRecord, at: Date): EntryChange[] {
  if (dryRun) return []
  const changesAll = kind === 'MOVE' || kind === 'DELETE' || kind === 'RESTORE' || keeping?.repair === true
  const copies = keeping ? sources.slice(1) : []
  const changed = [...(changesAll ? sources : copies), ...(target ? [target] : [])]
  return changed.flatMap(({ providerId, path }) => changeAt('TREE_CHANGED', providerId, path, at))
}

function changeAt(
  kind: EntryChangeKind | null,
  providerId: string | null,
  path: string | null,
  at: Date,
): EntryChange[] {
  return kind && providerId !== null && path !== null
    ? [{ kind, origin: 'STOWAGE', providerId, path: parsePath(path), at }]
    : []
}

/**
 * Returns a change as it looks from a location: null if it is elsewhere. A change of a folder above becomes a change of the
 * location itself, so that no path outside of the location is revealed.
 */
export function seenFrom({ providerId, path }: EntryLocation, change: EntryChange): EntryChange | null {
  if (change.providerId !== providerId) return null
  if (isWithin(change.path, path)) return change
  if (!isWithin(path, change.path)) return null
  return { ...change, path, kind: change.kind === 'REMOVED' ? 'REMOVED' : 'TREE_CHANGED' }
}

export interface EntryEvent {
  change: EntryChange
  viewer: Viewer
}

/** One subscription to folders or files and everything below them. */
export class EntrySubscription extends Subscription<EntryChange, EntryEvent> {
  readonly #grants: readonly [Grant<'read'>, ...Grant<'read'>[]]

  constructor(grants: readonly [Grant<'read'>, ...Grant<'read'>[]], onEnd: () => void) {
    super(onEnd)
    this.#grants = grants
  }

  get viewer(): Viewer {
    return this.#grants[0].viewer
  }

  /** Adds a change, if it concerns one of the locations. A client that reads too slowly gets one change of everything instead. */
  offer(change: EntryChange): void {
    for (const grant of this.#grants) {
      const seen = seenFrom(grant, change)
      if (seen) this.#add(seen)
    }
    if (this.unread > maxUnread) this.invalidate()
  }

  /** Replaces all unread changes by one of each location, after which the client lists the folders again. */
  invalidate(): void {
    this.clear()
    const at = new Date()
    for (const { providerId, path } of this.#grants)
      this.#add({ kind: 'TREE_CHANGED', origin: 'STOWAGE', providerId, path, at })
  }

  #add(change: EntryChange): void {
    const { kind, providerId, path } = change
    this.add(`${kind === 'TREE_CHANGED' ? 'tree' : 'entry'} ${providerId} ${formatPath(path)}`, change)
  }

  protected override toEvent(change: EntryChange): EntryEvent {
    return { change, viewer: this.viewer }
  }
}

/** Events in one query. */
const batch = 500
/** The maximum number of events that wait to be read. Beyond it, each subscription gets one change of everything. */
const maxWaiting = 10_000

interface EntryFeed {
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
    const [events, outside] = await Promise.all([findAuditEvents(db, ids), findPublished(db, ids)])
    const jobIds = events.flatMap(({ action, subjectId }) => (action === 'JOB_END' && subjectId ? subjectId : []))
    const jobs = new Map((await findJobs(db, jobIds)).map(job => [job.id, job]))
    for (const event of events) {
      for (const change of changesOf(event, jobs.get(event.subjectId ?? '') ?? null)) {
        for (const each of subscriptions) if (isOfWorkspace(each, event)) each.offer(change)
      }
    }
    for (const change of outside) {
      for (const each of subscriptions) if (isOfWorkspace(each, change)) each.offer({ ...change, origin: 'OUTSIDE' })
    }
  }

  return {
    open(grants, signal) {
      if (isClosed) throw stopping()
      const slot = open.add(grants[0].viewer)
      const work = activeGrants.register(grants, signal)
      const subscription = new EntrySubscription(grants, () => {
        slot[Symbol.dispose]()
        work[Symbol.dispose]()
        subscriptions.delete(subscription)
        if (subscriptions.size === 0) listener.stopLater()
      })
      subscriptions.add(subscription)
      listener.start()
      if (isListening) subscription.invalidate()
      subscription.cancelWith(work.signal)
      subscription.expireWith(grants[0].viewer)
      return subscription
    },

    async close() {
      isClosed = true
      for (const each of subscriptions) each.cancel(stopping())
      await Promise.all([listener.stop(), reading])
    },
  }
}

function isOfWorkspace({ viewer }: EntrySubscription, event: Pick<AuditEvent, 'workspaceId'>): boolean {
  return viewer.member.workspaceId === event.workspaceId
}

/** The locations of one subscription. Each change is compared with all of them. */
const maxLocations = 50

export function createEvents({ storage, feed }: { storage: Pick<Storage, 'record'>; feed: EntryFeed }) {
  return {
    /**
     * Follows the changes of files or folders and of everything below them. Fails when the signal aborts or the viewer loses
     * access to one of them. @throws as `Files.stat` except that the entries may be missing, TOO_MANY_SUBSCRIPTIONS, UNAVAILABLE
     */
    async followEntries(
      viewer: Viewer | null,
      input: Asked<typeof needs.follow>,
      signal: AbortSignal,
    ): Promise<EntrySubscription> {
      const grants = authorizeFollowing(viewer, input)
      if (grants.length > maxLocations) {
        throw new AppError('INVALID_INPUT', `A subscription can follow at most ${maxLocations} locations.`)
      }
      const providers = new Map(grants.map(granted => [granted.providerId, granted]))
      await Promise.all([...providers.values()].map(granted => storage.record(granted)))
      return feed.open(grants, signal)
    },
  }
}
