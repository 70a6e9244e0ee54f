/** Runs the jobs of all replicas: each server takes one job after the other, up to `slots` at once. */
import { randomUUID } from 'node:crypto'
import { takeJob } from '../../db/jobs/leases.ts'
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
  let isTaking = false
  let isWoken = false

  async function take(): Promise<void> {
    isWoken = true
    if (isTaking) return
    isTaking = true
    while (isWoken && running.size < slots && !stop.signal.aborted) {
      isWoken = false
      const lease = randomUUID()
      const job = await takeJob(db, lease).catch(onError)
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

  async function runOne(job: JobRecord, lease: string): Promise<void> {
    try {
      const state = await runJob(context, job, lease, stop.signal)
      if (state !== null) await onEnd(job, state)
    } catch (error) {
      onError(error)
    }
  }

  function wake(): void {
    if (slots > 0 && !stop.signal.aborted) void take()
  }

  const timer = setInterval(wake, pollInterval).unref()
  wake()
  return {
    wake,
    async close() {
      clearInterval(timer)
      stop.abort()
      await Promise.all(running)
    },
  }
}
