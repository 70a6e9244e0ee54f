/** One subscription: the ids of the jobs of which its client has not read the latest state. */
import { requireScope } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import { AppError } from '../../errors.ts'
import { maxUnread } from '../subscriptions/limits.ts'
import { Subscription } from '../subscriptions/subscription.ts'
import { isVisible } from './visibility.ts'

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
