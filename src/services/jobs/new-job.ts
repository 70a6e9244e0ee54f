/** Stores new jobs. */
import { requireScope } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Change } from '../../db/client.ts'
import { insertEntries, type NewJobEntry } from '../../db/jobs/entries.ts'
import { countActive, insertJob } from '../../db/jobs/jobs.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import type { ScheduledJob } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import { asCreator } from '../creator.ts'

/** The maximum number of jobs of one user that have not ended. */
export const maxActiveJobs = 100

/** Stores a job that acts as the viewer. @throws TOO_MANY_JOBS */
export async function storeJob(
  trx: Change,
  viewer: Viewer | null,
  job: ScheduledJob & { id: string; isAtomic: boolean },
  entries: readonly NewJobEntry[],
): Promise<JobRecord> {
  const creator = requireScope(viewer, 'read')
  const { address, requestId } = creator.origin
  const stored = await insertJob(trx, { ...job, ...asCreator(creator), address, requestId })
  await requireFewJobs(trx, stored)
  await insertEntries(trx, job.id, entries)
  return stored
}

/** @throws TOO_MANY_JOBS */
export async function requireFewJobs(trx: Change, job: JobRecord): Promise<void> {
  if ((await countActive(trx, job)) <= maxActiveJobs) return
  throw new AppError(
    'TOO_MANY_JOBS',
    `You have ${maxActiveJobs} jobs that have not ended, which is the limit: wait, or cancel some of them.`,
  )
}
