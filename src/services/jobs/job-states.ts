/** The states of jobs that all subscriptions of this server were offered. */
import { hash } from 'node:crypto'
import type { JobRecord } from '../../db/jobs/record.ts'

/** Characters of the paths of all whole states together. */
const maxSize = 4 * 1024 * 1024
/** Counted for everything in a state but its paths. */
const baseSize = 1024

/** Keeps a digest of each state, and the latest states whole as far as they fit, because a job can name many paths. */
export class JobStates {
  readonly #digests = new Map<string, string>()
  /** In the order in which they were kept. */
  readonly #whole = new Map<string, JobRecord>()
  #size = 0

  /** Returns the latest state of a job, or null if it is not kept. */
  latest(id: string): JobRecord | null {
    return this.#whole.get(id) ?? null
  }

  /** Keeps the latest state of a job in place of the oldest ones. */
  keep(job: JobRecord): void {
    this.#drop(job.id)
    this.#whole.set(job.id, job)
    this.#size += sizeOf(job)
    for (const id of this.#whole.keys()) {
      if (this.#size <= maxSize) return
      this.#drop(id)
    }
  }

  /** Notes a state that all subscriptions are offered. Returns whether it differs from the one before. */
  note(job: JobRecord): boolean {
    const digest = hash('sha256', JSON.stringify(job), 'base64')
    if (this.#digests.get(job.id) === digest) return false
    this.#digests.set(job.id, digest)
    return true
  }

  /** Forgets all jobs but these. */
  retain(ids: ReadonlySet<string>): void {
    for (const id of this.#digests.keys()) if (!ids.has(id)) this.#digests.delete(id)
    for (const id of this.#whole.keys()) if (!ids.has(id)) this.#drop(id)
  }

  #drop(id: string): void {
    const job = this.#whole.get(id)
    if (!job) return
    this.#whole.delete(id)
    this.#size -= sizeOf(job)
  }
}

function sizeOf({ sources, target }: JobRecord): number {
  return sources.reduce((sum, { path }) => sum + path.length, baseSize + (target?.path.length ?? 0))
}
