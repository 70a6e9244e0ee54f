/** One subscription: the latest state of each job that its client has not read yet. */
import { requireScope } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import { AppError } from '../../errors.ts'
import { isVisible } from './visibility.ts'

/** A job that was created or has changed, and the viewer with the rights that they have now. */
export interface JobChange {
  job: JobRecord
  viewer: Viewer
}

/** The maximum number of jobs whose state a client has not read. */
export const maxUnread = 1000

/** Ends when `return` is called, and fails when it is canceled. */
export class JobSubscription implements AsyncIterableIterator<JobChange> {
  /** Null for all jobs. */
  readonly jobId: string | null
  #viewer: Viewer
  readonly #onEnd: () => void
  readonly #unread = new Map<string, JobRecord>()
  /** The job that the subscription names, as of its last event. */
  #latest: JobRecord | null = null
  #failure: unknown
  #isEnded = false
  #change = Promise.withResolvers<void>()

  constructor(options: { jobId: string | null; viewer: Viewer; onEnd(): void }) {
    this.jobId = options.jobId
    this.#viewer = options.viewer
    this.#onEnd = options.onEnd
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
    if (this.#isEnded || (this.jobId !== null && this.jobId !== job.id)) return
    if (this.jobId !== null) this.#latest = job
    if (!isVisible(this.#viewer, job)) {
      if (this.jobId !== null) this.cancel(notFound())
      return
    }
    this.#unread.set(job.id, job)
    if (this.#unread.size > maxUnread) {
      this.cancel(new AppError('UNAVAILABLE', 'The client reads too slowly: subscribe again.', { retryAfterMs: 1000 }))
    } else this.#change.resolve()
  }

  /** Adds the state of jobs as of the beginning, unless the subscription already has a newer one. */
  begin(jobs: readonly JobRecord[]): void {
    for (const job of jobs) if (!this.#unread.has(job.id)) this.offer(job)
  }

  /** Makes the subscription fail. */
  cancel(reason: unknown): void {
    if (this.#isEnded) return
    this.#failure = reason
    this.#end()
  }

  async next(): Promise<IteratorResult<JobChange, undefined>> {
    for (;;) {
      const [job] = this.#unread.values()
      if (job) {
        this.#unread.delete(job.id)
        // The rights may have changed since the job was added.
        if (isVisible(this.#viewer, job)) return { done: false, value: { job, viewer: this.#viewer } }
      } else if (this.#failure) throw this.#failure
      else if (this.#isEnded) return { done: true, value: undefined }
      else {
        this.#change = Promise.withResolvers()
        await this.#change.promise
      }
    }
  }

  async return(): Promise<IteratorResult<JobChange, undefined>> {
    this.#end()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#unread.clear()
    this.#change.resolve()
    this.#onEnd()
  }
}

export function notFound(): AppError {
  return new AppError('NOT_FOUND', 'There is no such job.')
}
