/**
 * Distributes the changes of jobs to the subscriptions of this server. PostgreSQL notifies all servers of the ids of changed
 * jobs. Each server reads a set of changed jobs with one query, whatever the number of subscriptions. A subscription keeps only
 * the ids of jobs, and all subscriptions share the latest states, of which a bounded size stays in memory.
 */

import { hash } from 'node:crypto'
import { isUnrestricted, owns, requireScope } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findJobs, type JobOwners, type JobRecord, jobChannel, listCurrentJobs } from '../../db/jobs/jobs.ts'
import { AppError } from '../../errors.ts'
import { Limiter } from '../../lib/limiter.ts'
import { LruMap } from '../../lib/lru-map.ts'
import type { ActiveGrants } from '../../storage/active-grants.ts'
import { createListener, maxUnread, OpenSubscriptions, Subscription, stopping } from '../subscriptions/index.ts'

/** Jobs in one query, because a job can name many paths. */
const maxRows = 50

/** Yields the jobs with these ids that exist. */
async function* jobsWithIds(db: Database, ids: readonly string[]): AsyncGenerator<JobRecord> {
  for (let start = 0; start < ids.length; start += maxRows) yield* await findJobs(db, ids.slice(start, start + maxRows))
}

/** Yields up to `max` jobs that have not ended, or have ended in the last minutes; the newest first. */
async function* currentJobs(db: Database, owners: JobOwners, max: number): AsyncGenerator<JobRecord> {
  let before: string | null = null
  for (let left = max; left > 0; left -= maxRows) {
    const limit = Math.min(maxRows, left)
    const jobs: JobRecord[] = await listCurrentJobs(db, owners, { limit, before })
    yield* jobs
    if (jobs.length < limit) return
    before = jobs.at(-1)?.id ?? null
  }
}

/** Changed jobs that are read at a time. */
const batch = 500
/** Milliseconds between two reads of changed jobs. */
const interval = 250
/** Milliseconds before a failed read is repeated. */
const retryInterval = 2000
/**
 * Milliseconds between two reads of everything that is subscribed to. They find the changes whose notifications were lost,
 * because the connection broke or a connection pooler does not support them.
 */
const refreshInterval = 10_000

export interface JobFeed {
  /**
   * Opens a subscription to one job, or to all jobs for null. It begins with their present state.
   * @throws TOO_MANY_SUBSCRIPTIONS, NOT_FOUND, UNAVAILABLE
   */
  open(viewer: Viewer, jobId: string | null, signal: AbortSignal): Promise<JobSubscription>
  /** Ends all subscriptions. */
  close(): Promise<void>
}

export function createJobFeed(options: {
  db: Database
  activeGrants: ActiveGrants
  onError: (error: unknown) => void
}): JobFeed {
  const { db, activeGrants, onError } = options
  const subscriptions = new Set<JobSubscription>()
  const open = new OpenSubscriptions()
  const changed = new Set<string>()
  let states = new JobStates()
  /** Lets one read end before the next one, so that no state is published after a newer one. */
  const reads = new Limiter(1)
  let isRefreshDue = false
  let reading: Promise<void> | undefined
  let nextReadAt = 0
  let readTimer: NodeJS.Timeout | undefined
  let refreshTimer: NodeJS.Timeout | undefined
  let isClosed = false
  const listener = createListener(db, {
    channel: jobChannel,
    onNotification,
    onListening: refresh,
    onError,
    onStopped() {
      clearInterval(refreshTimer)
      refreshTimer = undefined
      states = new JobStates()
    },
  })

  function onNotification(id: string): void {
    if (!Array.from(subscriptions).some(({ jobId }) => jobId === null || jobId === id)) return
    changed.add(id)
    schedule()
  }

  function refresh(): void {
    isRefreshDue = true
    schedule()
  }

  function schedule(): void {
    if (readTimer || reading || isClosed || subscriptions.size === 0) return
    readTimer = setTimeout(
      () => {
        readTimer = undefined
        reading = reads.run(read).then(
          () => readAgainAfter(interval),
          error => {
            onError(error)
            readAgainAfter(retryInterval)
          },
        )
      },
      Math.max(0, nextReadAt - performance.now()),
    ).unref()
  }

  function readAgainAfter(delay: number): void {
    reading = undefined
    nextReadAt = performance.now() + delay
    if (changed.size > 0 || isRefreshDue) schedule()
  }

  async function read(): Promise<void> {
    const ids = [...changed].slice(0, batch)
    for (const id of ids) changed.delete(id)
    const isRefresh = isRefreshDue
    isRefreshDue = false
    try {
      if (isRefresh) await readEverything()
      for await (const job of jobsWithIds(db, ids)) publish(job)
    } catch (error) {
      for (const id of ids) changed.add(id)
      isRefreshDue ||= isRefresh
      throw error
    }
  }

  async function readEverything(): Promise<void> {
    const named = new Set(Array.from(subscriptions).flatMap(({ jobId }) => jobId ?? []))
    const found = new Set<string>()
    for (const jobs of [jobsWithIds(db, [...named]), currentJobs(db, ownersOf(subscriptions), maxUnread)]) {
      for await (const job of jobs) {
        found.add(job.id)
        publish(job)
      }
    }
    states.retain(found)
    for (const each of subscriptions) {
      if (each.jobId !== null && named.has(each.jobId) && !found.has(each.jobId)) each.cancel(notFound())
    }
  }

  /** Offers a state to all subscriptions but `reader`, which has it already. */
  function publish(job: JobRecord, reader?: JobSubscription): void {
    states.keep(job)
    if (!states.note(job)) return
    for (const each of subscriptions) if (each !== reader) each.offer(job)
  }

  /** Reads a state that is no longer in memory, because the client of the subscription has read slowly. */
  const readLatest: ReadLatest = (id, reader) =>
    states.latest(id) ??
    reads.run(async () => {
      const kept = states.latest(id)
      if (kept || reader.isEnded) return kept
      const [job] = await findJobs(db, [id])
      if (job) publish(job, reader)
      return job ?? null
    })

  function subscribe(viewer: Viewer, jobId: string | null, signal: AbortSignal): JobSubscription {
    const slot = open.add(viewer)
    const subscription: JobSubscription = new JobSubscription({
      jobId,
      viewer,
      readLatest,
      onEnd() {
        slot[Symbol.dispose]()
        work[Symbol.dispose]()
        remove(subscription)
      },
    })
    const work = activeGrants.registerViewer({ viewer, confirmed: now => subscription.confirmed(now) }, signal)
    add(subscription)
    subscription.cancelWith(work.signal)
    subscription.expireWith(viewer)
    return subscription
  }

  /** Reads the present state. Changes after it are published, because the subscription is already open. */
  async function begin(subscription: JobSubscription): Promise<void> {
    const { jobId, viewer } = subscription
    const jobs = jobId === null ? currentJobs(db, ownersOf([subscription]), maxUnread) : jobsWithIds(db, [jobId])
    let isFound = false
    for await (const job of jobs) {
      if (subscription.isEnded) return
      isFound ||= isVisible(viewer, job)
      // The other subscriptions get this state, too, so that a later change back to the state that they have is published.
      if (subscription.begin(job)) publish(job, subscription)
    }
    if (jobId !== null && !isFound) throw notFound()
  }

  function add(subscription: JobSubscription): void {
    subscriptions.add(subscription)
    listener.start()
    refreshTimer ??= setInterval(refresh, refreshInterval).unref()
  }

  function remove(subscription: JobSubscription): void {
    subscriptions.delete(subscription)
    if (subscriptions.size === 0) listener.stopLater()
  }

  return {
    async open(viewer, jobId, signal) {
      if (isClosed) throw stopping()
      const subscription = subscribe(viewer, jobId, signal)
      try {
        await begin(subscription)
        return subscription
      } catch (error) {
        await subscription.return()
        throw error
      }
    },

    async close() {
      isClosed = true
      for (const subscription of subscriptions) subscription.cancel(stopping())
      clearTimeout(readTimer)
      await Promise.all([listener.stop(), reading])
    },
  }
}

function ownersOf(subscriptions: Iterable<JobSubscription>): JobOwners {
  const viewers = Array.from(subscriptions).flatMap(({ jobId, viewer }) => (jobId === null ? viewer : []))
  const isEverybody = viewers.some(isUnrestricted)
  return {
    workspaceIds: [...new Set(viewers.map(({ member }) => member.workspaceId))],
    userIds: isEverybody ? null : [...new Set(viewers.map(({ member }) => member.userId))],
  }
}

// One subscription: the ids of the jobs of which its client has not read the latest state.

/** A job that was created or has changed, and the viewer with the rights that they have now. */
export interface JobChange {
  job: JobRecord
  viewer: Viewer
}

/** Returns the latest state of a job for a subscription whose client reads it now; null if the job is deleted. */
export type ReadLatest = (id: string, reader: JobSubscription) => JobRecord | null | Promise<JobRecord | null>

/** Ends when `return` is called, and fails when it is canceled. */
export class JobSubscription extends Subscription<string, JobChange> {
  /** Null for all jobs. */
  readonly jobId: string | null
  readonly #readLatest: ReadLatest
  #viewer: Viewer
  /** The job that the subscription names, as of its last event. */
  #latest: JobRecord | null = null

  constructor(options: { jobId: string | null; viewer: Viewer; readLatest: ReadLatest; onEnd(): void }) {
    super(options.onEnd)
    this.jobId = options.jobId
    this.#readLatest = options.readLatest
    this.#viewer = options.viewer
  }

  get viewer(): Viewer {
    return this.#viewer
  }

  /** Uses the present rights of the viewer from now on. @throws SCOPE_REQUIRED, NOT_FOUND */
  confirmed(viewer: Viewer): void {
    this.#viewer = requireScope(viewer, 'read')
    if (this.#latest && !isVisible(viewer, this.#latest)) throw notFound()
  }

  /** Adds the latest state of a job, unless the viewer may not see it. */
  offer(job: JobRecord): void {
    if (this.isEnded || (this.jobId !== null && this.jobId !== job.id)) return
    if (this.jobId !== null) this.#latest = job
    if (!isVisible(this.#viewer, job)) {
      if (this.jobId !== null) this.cancel(notFound())
      return
    }
    this.add(job.id, job.id)
    if (this.unread > maxUnread) {
      this.cancel(new AppError('UNAVAILABLE', 'The client reads too slowly: subscribe again.', { retryAfterMs: 1000 }))
    }
  }

  /**
   * Adds the state of a job as of the beginning, unless the subscription already has another one, which may be newer or older.
   * @returns whether it has added the state
   */
  begin(job: JobRecord): boolean {
    if (this.hasUnread(job.id)) return false
    this.offer(job)
    return true
  }

  protected override async toEvent(id: string): Promise<JobChange | null> {
    const job = await this.#readLatest(id, this)
    // The rights may have changed since the job was added.
    return job && isVisible(this.#viewer, job) ? { job, viewer: this.#viewer } : null
  }
}

export function notFound(): AppError {
  return new AppError('NOT_FOUND', 'There is no such job.')
}

/** Returns whether a viewer sees a job, or the schedule of one. */
export function isVisible(
  viewer: Viewer,
  job: Pick<JobRecord, 'workspaceId' | 'userId' | 'credentialKind' | 'credentialId' | 'sources' | 'target'>,
): boolean {
  return owns(viewer, job, [...job.sources, ...(job.target ? [job.target] : [])])
}

// The states of jobs that all subscriptions of this server have received.

/** The maximum number of characters in the paths of all complete states together. */
const maxSize = 4 * 1024 * 1024
/** Characters that each state counts for besides its paths. */
const baseSize = 1024

/** Keeps a digest of each state, and the latest states whole as far as they fit, because a job can name many paths. */
export class JobStates {
  readonly #digests = new Map<string, string>()
  readonly #states = new LruMap<string, JobRecord>(maxSize, { sizeOf })

  /** Returns the latest state of a job, or null if it is not kept. */
  latest(id: string): JobRecord | null {
    return this.#states.get(id) ?? null
  }

  /** Keeps the latest state of a job in place of those that were used least recently. */
  keep(job: JobRecord): void {
    this.#states.set(job.id, job)
  }

  /** Remembers the state that all subscriptions get. Returns whether it differs from the previous state. */
  note(job: JobRecord): boolean {
    const digest = hash('sha256', JSON.stringify(job), 'base64')
    if (this.#digests.get(job.id) === digest) return false
    this.#digests.set(job.id, digest)
    return true
  }

  /** Forgets all jobs but these. */
  retain(ids: ReadonlySet<string>): void {
    for (const id of this.#digests.keys()) if (!ids.has(id)) this.#digests.delete(id)
    for (const [id] of this.#states) if (!ids.has(id)) this.#states.delete(id)
  }
}

function sizeOf({ sources, target }: JobRecord): number {
  return sources.reduce((sum, { path }) => sum + path.length, baseSize + (target?.path.length ?? 0))
}
