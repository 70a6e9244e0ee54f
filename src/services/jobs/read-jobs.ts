/** Reads many jobs in small sets, because a job can name many paths. */
import type { Database } from '../../db/client.ts'
import { type JobOwners, listCurrentJobs } from '../../db/jobs/changes.ts'
import { findJobs } from '../../db/jobs/jobs.ts'
import type { JobRecord } from '../../db/jobs/record.ts'

/** Jobs in one query. */
const maxRows = 50

/** Yields the jobs with these ids that exist. */
export async function* jobsWithIds(db: Database, ids: readonly string[]): AsyncGenerator<JobRecord> {
  for (let start = 0; start < ids.length; start += maxRows) yield* await findJobs(db, ids.slice(start, start + maxRows))
}

/** Yields up to `max` jobs that have not ended, or have ended in the last minutes; the newest first. */
export async function* currentJobs(db: Database, owners: JobOwners, max: number): AsyncGenerator<JobRecord> {
  let before: string | null = null
  for (let left = max; left > 0; left -= maxRows) {
    const limit = Math.min(maxRows, left)
    const jobs: JobRecord[] = await listCurrentJobs(db, owners, { limit, before })
    yield* jobs
    if (jobs.length < limit) return
    before = jobs.at(-1)?.id ?? null
  }
}
