import { parsePath } from '../../auth/path.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import type { JobState, StoredLocation } from '../../db/schema.ts'
import type { EntryData } from './entry-data.ts'

/**
 * Lets locks and properties follow what a job has done. A mutation's job has one source and its exact target. Other jobs can give
 * their entries new names, so the properties of what they move end with it.
 */
export async function followJob(data: EntryData, job: JobRecord, state: JobState): Promise<void> {
  if (state !== 'SUCCEEDED' || job.dryRun) return
  const [source] = job.sources
  const target = job.isAtomic && job.target
  if (source && target && job.kind === 'COPY') return data.copied(locate(source), locate(target))
  if (source && target && job.kind === 'MOVE') return data.moved(locate(source), locate(target))
  if (job.kind !== 'MOVE' && job.kind !== 'DELETE') return
  for (const each of job.sources) await data.deleted(locate(each))
}

function locate({ providerId, path }: StoredLocation) {
  return { providerId, path: parsePath(path) }
}
