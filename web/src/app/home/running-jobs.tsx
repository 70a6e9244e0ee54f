import { Suspense } from 'react'
import { useSession } from '../../api/session.ts'
import { isUnfinished, useJobs } from '../../jobs/jobs.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { texts } from '../../texts/home.tsx'
import { SectionHead } from './section-head.tsx'

const JobLine = lazyPart(async () => (await import('../../jobs/line.tsx')).JobLine)

const maxShown = 4

/** The jobs of other people that run now. The panel in the corner of the page shows the person's own jobs. */
export function RunningJobs() {
  const { user } = useSession().viewer
  const jobs = useJobs().filter(job => isUnfinished(job) && job.createdBy?.id !== user.id)
  if (jobs.length === 0) return null
  return (
    <section aria-labelledby="running-jobs">
      <SectionHead id="running-jobs" title={texts.runningJobs} href="/jobs" link={texts.allJobs} />
      <ul className="plain-list">
        <Suspense>
          {jobs.slice(0, maxShown).map(job => (
            <JobLine key={job.id} job={job} />
          ))}
        </Suspense>
      </ul>
    </section>
  )
}
