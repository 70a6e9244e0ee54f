/** Runs the jobs of all replicas: each server takes one job after the other, up to `slots` at once. */
import { randomUUID } from 'node:crypto'
import { endAbandoned, isAnyWaiting, takeJob } from '../../db/jobs/leases.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import type { JobState } from '../../db/schema.ts'
import { type RunContext, runJob } from './run.ts'

/** Milliseconds between two searches for jobs that another server has queued or abandoned. */
const pollInterval = 2000

export interface JobWorker {
  /** Looks for jobs now. */
  wake(): void
  /** Interrupts running jobs, so that another server continues them at once. */
  close(): Promise<void>
}

/** @param slots jobs that this server runs at once; 0 runs none */
export function startJobWorker(
  context: RunContext & { onEnd(job: JobRecord, state: JobState): Promise<void> },
  slots: number,
): JobWorker {
  const { db, onError, onEnd } = context
  const stop = new AbortController()
  const running = new Set<Promise<void>>()
  let taking: Promise<void> = Promise.resolve()
  let isTaking = false
  let isWoken = false

  async function take(): Promise<void> {
    isTaking = true
    while (isWoken && running.size < slots && !stop.signal.aborted) {
      isWoken = false
      const lease = { id: randomUUID(), takenAt: performance.now() }
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
      const state = await runJob(context, job, lease, stop.signal)
      if (state !== null) await onEnd(job, state)
    } catch (error) {
      onError(error)
    }
  }

  function wake(): void {
    isWoken = true
    if (slots > 0 && !isTaking && !stop.signal.aborted) taking = take()
  }

  async function poll(): Promise<void> {
    if (slots === 0 || !(await isAnyWaiting(db))) return
    await Promise.all((await endAbandoned(db)).map(job => onEnd(job, job.state)))
    wake()
  }

  const timer = setInterval(() => void poll().catch(onError), pollInterval).unref()
  void poll().catch(onError)
  return {
    wake,
    async close() {
      clearInterval(timer)
      stop.abort()
      await taking
      await Promise.all(running)
    },
  }
}
