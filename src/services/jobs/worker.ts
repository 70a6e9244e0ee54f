/** Runs the jobs of all replicas: each server takes one job after the other, up to `slots` at once. */
import { randomUUID } from 'node:crypto'
import { changeWithOwnEvents } from '../../db/audit-events.ts'
import { endAbandoned, isAnyWaiting, takeJob } from '../../db/jobs/leases.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import type { JobState } from '../../db/schema.ts'
import { Limiter } from './limiter.ts'
import { type RunContext, runJob } from './run.ts'

/** Milliseconds between two searches for jobs that another server has queued or abandoned. */
const pollInterval = 2000
/** Jobs that a server runs at once for requests that wait for them, beside its slots. */
const maxAwaited = 16

/** Runs a job as part of a trace. */
export type ObserveJob = (job: JobRecord, run: () => Promise<JobState | null>) => Promise<JobState | null>

export interface JobWorker {
  /** Looks for jobs now. */
  wake(): void
  /** Runs a job for a request that waits for it, unless a server runs it already. */
  runNow(id: string): void
  /** Interrupts running jobs, so that another server continues them at once. */
  close(): Promise<void>
}

/** @param slots jobs that this server runs at once; 0 runs only those that requests wait for */
export function startJobWorker(
  context: RunContext & { onEnd(job: JobRecord, state: JobState): Promise<void>; observe: ObserveJob },
  slots: number,
): JobWorker {
  const { db, recordEnd, onError, onEnd, observe } = context
  const stop = new AbortController()
  const running = new Set<Promise<void>>()
  const awaited = new Map<string, Promise<void>>()
  const limiter = new Limiter(maxAwaited)
  let taking: Promise<void> = Promise.resolve()
  let isTaking = false
  let isWoken = false

  async function take(): Promise<void> {
    isTaking = true
    while (isWoken && running.size < slots && !stop.signal.aborted) {
      isWoken = false
      const lease = newLease()
      const job = await takeJob(db, lease.id).catch(onError)
      if (!job) continue
      isWoken = true
      const run = runOne(job, lease).finally(() => {
        running.delete(run)
        wake()
      })
      running.add(run)
    }
    isTaking = false
  }

  async function runOne(job: JobRecord, lease: { id: string; takenAt: number }): Promise<void> {
    try {
      const state = await observe(job, () => runJob(context, job, lease, stop.signal))
      if (state !== null) await onEnd(job, state)
    } catch (error) {
      onError(error)
    }
  }

  async function runAwaited(id: string): Promise<void> {
    if (stop.signal.aborted) return
    const lease = newLease()
    const job = await takeJob(db, lease.id, id)
    if (job) await runOne(job, lease)
  }

  function wake(): void {
    isWoken = true
    if (slots > 0 && !isTaking && !stop.signal.aborted) taking = take()
  }

  async function poll(): Promise<void> {
    if (slots === 0 || !(await isAnyWaiting(db))) return
    const ended = await changeWithOwnEvents(db, async change => {
      const jobs = await endAbandoned(change)
      for (const job of jobs) await recordEnd(change, job)
      return jobs
    })
    await Promise.all(ended.map(job => onEnd(job, job.state)))
    wake()
  }

  const timer = setInterval(() => void poll().catch(onError), pollInterval).unref()
  void poll().catch(onError)
  return {
    wake,
    runNow(id) {
      if (awaited.has(id) || stop.signal.aborted) return
      const run = limiter
        .run(() => runAwaited(id))
        .catch(onError)
        .finally(() => awaited.delete(id))
      awaited.set(id, run)
    },
    async close() {
      clearInterval(timer)
      stop.abort()
      await taking
      await Promise.all([...running, ...awaited.values()])
    },
  }
}

function newLease(): { id: string; takenAt: number } {
  return { id: randomUUID(), takenAt: performance.now() }
}
