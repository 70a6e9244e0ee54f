import { owns } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { JobRecord } from '../../db/jobs/record.ts'

/** Returns whether a viewer sees a job, or the schedule of one. */
export function isVisible(
  viewer: Viewer,
  job: Pick<JobRecord, 'workspaceId' | 'userId' | 'credentialKind' | 'credentialId' | 'sources' | 'target'>,
): boolean {
  return owns(viewer, job, [...job.sources, ...(job.target ? [job.target] : [])])
}
