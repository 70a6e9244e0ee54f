import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions, useSession } from '../api/session.ts'
import { useStartedJobs } from '../api/started-jobs.ts'
import { lazyPart } from '../lib/load-part.ts'
import { isUnfinished, latestJobs } from './jobs.ts'
import type { AnnounceEnd } from './panel.tsx'

const JobPanel = lazyPart(async () => (await import('./panel.tsx')).JobPanel)

/** Shows the panel of jobs on every page, once there is a job to show. */
export function JobDock({ announceEnd }: { announceEnd: AnnounceEnd }) {
  const { canRead } = usePermissions()
  const { user } = useSession().viewer
  const started = useStartedJobs()
  const [isNeeded, setNeeded] = useState(false)
  const { data = [] } = useQuery({
    queryKey: queryKeys.jobs,
    queryFn: ({ signal }) => latestJobs(signal),
    enabled: canRead,
  })
  const hasJobs = started.length > 0 || data.some(job => job.createdBy?.id === user.id && isUnfinished(job))
  if (hasJobs && !isNeeded) setNeeded(true)
  return isNeeded && canRead ? (
    <Suspense>
      <JobPanel key={user.id} userId={user.id} announceEnd={announceEnd} />
    </Suspense>
  ) : null
}
