/** One subscription: the latest state of each job that its client has not read yet. */
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

/** Ends when `return` is called, and fails when it is canceled. */
export class JobSubscription extends Subscription<JobRecord, JobChange> {
  /** Null for all jobs. */
  readonly jobId: string | null
  #viewer: Viewer
  /** The job that the subscription names, as of its last event. */
  #latest: JobRecord | null = null

  constructor(options: { jobId: string | null; viewer: Viewer; onEnd(): void }) {
    super(options.onEnd)
    this.jobId = options.jobId
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
    this.add(job.id, job)
    if (this.unread > maxUnread) {
      this.cancel(new AppError('UNAVAILABLE', 'The client reads too slowly: subscribe again.', { retryAfterMs: 1000 }))
    }
  }

  /**
   * Adds the state of jobs as of the beginning, unless the subscription already has another one, which may be newer or older.
   * @returns the jobs whose state it has added
   */
  begin(jobs: readonly JobRecord[]): JobRecord[] {
    const added = jobs.filter(({ id }) => !this.hasUnread(id))
    for (const job of added) this.offer(job)
    return added
  }

  protected override toEvent(job: JobRecord): JobChange | null {
    // The rights may have changed since the job was added.
    return isVisible(this.#viewer, job) ? { job, viewer: this.#viewer } : null
  }
}

export function notFound(): AppError {
  return new AppError('NOT_FOUND', 'There is no such job.')
}
