/**
 * Distributes the changes of jobs to the subscriptions of this server. PostgreSQL notifies all servers of the ids of changed
 * jobs. Each server reads a set of changed jobs with one query, whatever the number of subscriptions.
 */
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { type JobOwners, jobChannel, listCurrentJobs } from '../../db/jobs/changes.ts'
import { findJobs } from '../../db/jobs/jobs.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import type { ActiveGrants } from '../../storage/active-grants.ts'
import { maxUnread, requireRoom, stopping } from '../subscriptions/limits.ts'
import { createListener } from '../subscriptions/listener.ts'
import { JobSubscription, notFound } from './subscription.ts'
import { isVisible, seesEverybody } from './visibility.ts'

/** Jobs in one query. */
const batch = 500
/** Milliseconds between two queries for changed jobs. */
const interval = 250
/** Milliseconds before a failed query is repeated. */
const retryInterval = 2000
/**
 * Milliseconds between two queries for everything that is subscribed to. They find the changes whose notifications were lost,
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
  const changed = new Set<string>()
  /** The state of jobs, as JSON, that all subscriptions have been offered. */
  let known = new Map<string, string>()
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
      known.clear()
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
        reading = read().then(
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
      const jobs = await findJobs(db, ids)
      for (const job of jobs) publish(job)
    } catch (error) {
      for (const id of ids) changed.add(id)
      isRefreshDue ||= isRefresh
      throw error
    }
  }

  async function readEverything(): Promise<void> {
    const named = new Set(Array.from(subscriptions).flatMap(({ jobId }) => jobId ?? []))
    const [jobs, current] = await Promise.all([
      findJobs(db, [...named]),
      listCurrentJobs(db, ownersOf(subscriptions), maxUnread),
    ])
    const found = new Map([...jobs, ...current].map(job => [job.id, job]))
    for (const job of found.values()) publish(job)
    known = new Map([...known].filter(([id]) => found.has(id)))
    for (const each of subscriptions) {
      if (each.jobId !== null && named.has(each.jobId) && !found.has(each.jobId)) each.cancel(notFound())
    }
  }

  function publish(job: JobRecord): void {
    const state = JSON.stringify(job)
    if (known.get(job.id) === state) return
    known.set(job.id, state)
    for (const each of subscriptions) each.offer(job)
  }

  function subscribe(viewer: Viewer, jobId: string | null, signal: AbortSignal): JobSubscription {
    const subscription: JobSubscription = new JobSubscription({
      jobId,
      viewer,
      onEnd() {
        work[Symbol.dispose]()
        remove(subscription)
      },
    })
    const work = activeGrants.registerViewer({ viewer, confirmed: now => subscription.confirmed(now) }, signal)
    add(subscription)
    subscription.cancelWith(work.signal)
    return subscription
  }

  /** Reads the present state. Changes after it are published, because the subscription is already open. */
  async function begin(subscription: JobSubscription): Promise<void> {
    const { jobId, viewer } = subscription
    const jobs =
      jobId === null ? await listCurrentJobs(db, ownersOf([subscription]), maxUnread) : await findJobs(db, [jobId])
    if (jobId !== null && !jobs.some(job => isVisible(viewer, job))) throw notFound()
    const added = subscription.begin(jobs)
    // A job counts as known only after all subscriptions were offered this state of it.
    if (subscriptions.size === 1) for (const job of added) known.set(job.id, JSON.stringify(job))
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
      requireRoom(subscriptions, viewer)
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
  const isEverybody = viewers.some(seesEverybody)
  return {
    workspaceIds: [...new Set(viewers.map(({ member }) => member.workspaceId))],
    userIds: isEverybody ? null : [...new Set(viewers.map(({ member }) => member.userId))],
  }
}
