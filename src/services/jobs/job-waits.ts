/** Waits for the ends of jobs, whichever server runs them. One query a second asks for all of them. */
import type { Database } from '../../db/client.ts'
import { findJobs } from '../../db/jobs/jobs.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import { AppError } from '../../errors.ts'

/** Milliseconds between two queries. The end of a job that this server runs is known at once. */
const interval = 1000

type Wait = PromiseWithResolvers<JobRecord>

export interface JobWaits {
  /** Resolves when the job has ended or is paused. @throws the reason of the signal; UNAVAILABLE when the server stops */
  wait(id: string, signal: AbortSignal): Promise<JobRecord>
  /** Call this when a job may have ended. */
  check(): void
  close(): void
}

/** @param runNow is called every second for each job that has not ended, because its server may have been killed */
export function createJobWaits(options: {
  db: Database
  runNow(job: JobRecord): void
  onError: (error: unknown) => void
}): JobWaits {
  const { db, runNow, onError } = options
  const waits = new Map<string, Set<Wait>>()
  let timer: NodeJS.Timeout | undefined
  let isReading = false
  let isDue = false
  let isClosed = false

  async function read(): Promise<void> {
    for (const job of await findJobs(db, [...waits.keys()])) {
      if (job.state === 'QUEUED' || job.state === 'RUNNING') runNow(job)
      else for (const each of waits.get(job.id) ?? []) each.resolve(job)
    }
  }

  /** A call while a query runs causes another one, because the first may have missed the change. */
  async function check(): Promise<void> {
    isDue = true
    if (isReading) return
    isReading = true
    while (isDue && waits.size > 0) {
      isDue = false
      await read().catch(onError)
    }
    isReading = false
  }

  function add(id: string, each: Wait): void {
    const others = waits.get(id) ?? new Set<Wait>()
    waits.set(id, others.add(each))
    timer ??= setInterval(() => void check(), interval).unref()
  }

  function remove(id: string, each: Wait): void {
    const others = waits.get(id)
    others?.delete(each)
    if (others?.size === 0) waits.delete(id)
    if (waits.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    async wait(id, signal) {
      signal.throwIfAborted()
      if (isClosed) throw stopping(id)
      const each: Wait = Promise.withResolvers()
      const onAbort = () => each.reject(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      add(id, each)
      // The job may have ended before.
      void check()
      try {
        return await each.promise
      } finally {
        signal.removeEventListener('abort', onAbort)
        remove(id, each)
      }
    },

    check: () => void check(),

    close() {
      isClosed = true
      for (const [id, all] of waits) for (const each of all) each.reject(stopping(id))
    },
  }
}

function stopping(jobId: string): AppError {
  const message = `The server is stopping. The job ${jobId} goes on: ask for its state.`
  return new AppError('UNAVAILABLE', message, { retryAfterMs: 1000, facts: { jobId } })
}
