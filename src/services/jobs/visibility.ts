/** Decides who sees a job. */
import { includesPath } from '../../auth/access.ts'
import { parsePath } from '../../auth/path.ts'
import { includesScope } from '../../auth/scopes.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { JobRecord } from '../../db/jobs/record.ts'

/** Returns whether the viewer sees the jobs of everybody. */
export function seesEverybody({ scope }: Viewer): boolean {
  return includesScope(scope, 'admin')
}

/** A job is visible to its owner and to administrators, at locations that they may access. */
export function isVisible(
  viewer: Viewer,
  job: Pick<JobRecord, 'workspaceId' | 'userId' | 'sources' | 'target'>,
): boolean {
  const { member, access } = viewer
  if (job.workspaceId !== member.workspaceId) return false
  if (job.userId !== member.userId && !seesEverybody(viewer)) return false
  return [...job.sources, ...(job.target ? [job.target] : [])].every(({ providerId, path }) =>
    includesPath(access, providerId, parsePath(path)),
  )
}
