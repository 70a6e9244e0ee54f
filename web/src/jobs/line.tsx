import { JobProgressBar } from './actions.tsx'
import { statusOf, titleOf } from './describe.ts'
import { type Job, useStorageNames } from './jobs.ts'
import './jobs.css'

/** A job in a list of a page: what it does, and how far it is. */
export function JobLine({ job }: { job: Job }) {
  const title = titleOf(job, useStorageNames())
  return (
    <li className="running-job">
      <span>{title}</span>
      <JobProgressBar job={job} label={title} />
      <span className="help">{statusOf(job)}</span>
    </li>
  )
}
