/** One subscription: the ids of the jobs of which its client has not read the latest state. */

import { hash } from 'node:crypto'
import { owns, requireScope } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { JobRecord } from '../../db/jobs/jobs.ts'
import { AppError } from '../../errors.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { maxUnread, Subscription } from '../subscriptions/index.ts'

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

  /** Takes over the rights that the viewer has now. @throws SCOPE_REQUIRED, NOT_FOUND */
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
