/**
 * Runs the jobs of all replicas: each server takes one job after the other, up to `slots` at once. Members take turns. A run whose
 * turn is over ends after its steps. Its slot is free at once, because a step can take long, but not for the same member.
 */
import { randomUUID } from 'node:crypto'
import { changeWithOwnEvents } from '../../db/audit-events.ts'
import type { JobRecord } from '../../db/jobs/jobs.ts'
import { endAbandoned, isAnyWaiting, takeJob } from '../../db/jobs/leases.ts'
import type { JobState } from '../../db/schema.ts'
import { startPolling } from '../../lib/polling.ts'
import { Slots } from '../../lib/slots.ts'
import { type RunContext, runJob } from './run.ts'

/** Milliseconds between two searches for jobs that another server has queued or abandoned. */
const pollInterval = 2000
/** The maximum numbers of jobs that a server runs at once for requests that wait for them, beside its slots. */
const maxAwaited = { member: 4, all: 16 }

/** Runs a job as part of a trace. */
export type ObserveJob = (job: JobRecord, run: () => Promise<JobState | null>) => Promise<JobState | null>

export interface JobWorker {
  /** Looks for jobs now. */
  wake(): void
  /** Runs a job for a request that waits for it, unless a server runs it already, or this one has too many such jobs. */
  runNow(job: Pick<JobRecord, 'id' | 'userId'>): void
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
  const running = new Set<RunningJob>()
  const awaited = new Map<string, Promise<void>>()
  const awaitedSlots = new Slots<'member'>(maxAwaited)
  let taking: Promise<void> = Promise.resolve()
  let isTaking = false
  let isWoken = false

  /** At most as many runs as there are slots leave theirs free, so that all runs together are bounded. */
  function freeSlots(): number {
    return slots - Math.max(running.size - endingRuns().length, running.size - slots)
  }

  function endingRuns(): RunningJob[] {
    return Array.from(running).filter(({ isTurnOver }) => isTurnOver)
  }

  async function take(): Promise<void> {
    isTaking = true
    while (isWoken && freeSlots() > 0 && !stop.signal.aborted) {
      isWoken = false
      const lease = newLease()
      const except = endingRuns().map(({ userId }) => userId)
      const job = await takeJob(db, lease.id, { except }).catch(onError)
      if (!job) continue
      isWoken = true
      start(job, lease)
    }
    isTaking = false
  }

  function start(job: JobRecord, lease: NewLease): void {
    const run: RunningJob = { userId: job.userId, isTurnOver: false, ended: Promise.resolve() }
    running.add(run)
    const onTurnOver = () => {
      run.isTurnOver = true
      wake()
    }
    run.ended = runOne(job, lease, onTurnOver).finally(() => {
      running.delete(run)
      wake()
    })
  }

  async function runOne(job: JobRecord, lease: NewLease, onTurnOver: (() => void) | null): Promise<void> {
    try {
      const state = await observe(job, () => runJob(context, job, lease, stop.signal, onTurnOver))
      if (state !== null) await onEnd(job, state)
    } catch (error) {
      onError(error)
    }
  }

  async function runAwaited(id: string): Promise<void> {
    if (stop.signal.aborted) return
    const lease = newLease()
    const job = await takeJob(db, lease.id, { id })
    // A run that a request waits for has no slot of other members.
    if (job) await runOne(job, lease, null)
  }

  function wake(): void {
    isWoken = true
    if (slots > 0 && !isTaking && !stop.signal.aborted) taking = take()
  }

  /** Looks for jobs that another server has queued, or was killed with. */
  async function search(): Promise<void> {
    if (slots === 0 || !(await isAnyWaiting(db))) return
    const ended = await changeWithOwnEvents(db, async change => {
      const jobs = await endAbandoned(change)
      for (const job of jobs) await recordEnd(change, job)
      return jobs
    })
    await Promise.all(ended.map(job => onEnd(job, job.state)))
    wake()
  }

  const polling = startPolling({ interval: pollInterval, search, onError })
  return {
    wake,
    runNow({ id, userId }) {
      if (awaited.has(id) || stop.signal.aborted) return
      const slot = awaitedSlots.tryTake({ member: userId })
      if (!slot) return
      const run = runAwaited(id)
        .catch(onError)
        .finally(() => {
          slot[Symbol.dispose]()
          awaited.delete(id)
        })
      awaited.set(id, run)
    },
    async close() {
      stop.abort()
      await polling.stop()
      await taking
      await Promise.all([...Array.from(running, ({ ended }) => ended), ...awaited.values()])
    },
  }
}

interface NewLease {
  id: string
  /** As of `performance.now()`. */
  takenAt: number
}

/** A run that has a slot. */
interface RunningJob {
  userId: string
  /** The run ends after its steps, because another member waits. */
  isTurnOver: boolean
  ended: Promise<void>
}

function newLease(): NewLease {
  return { id: randomUUID(), takenAt: performance.now() }
}
