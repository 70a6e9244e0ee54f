import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link } from 'react-router'
import { useStartedJobs } from '../api/started-jobs.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/jobs.ts'
import { Button } from '../ui/button.tsx'
import { DockPanel } from '../ui/dock-panel.tsx'
import { notifyError } from '../ui/toasts.tsx'
import { JobActions, JobProgressBar } from './actions.tsx'
import { stateTitles, statusOf, titleOf } from './describe.ts'
import './jobs.css'
import { isUnfinished, type Job, useJobs, useStorageNames } from './jobs.ts'

/** Says that a job has ended, in the words of `text`. */
export type AnnounceEnd = (client: QueryClient, job: Job, text: string) => Promise<void>

/** Shows the person's own jobs in a corner of every page: those that run, and those that ended while the page was open. */
export function JobPanel({ userId, announceEnd }: { userId: string; announceEnd: AnnounceEnd }) {
  const started = useStartedJobs()
  const jobs = useJobs().filter(({ createdBy }) => createdBy?.id === userId)
  const storages = useStorageNames()
  const [shownIds, setShownIds] = useState<ReadonlySet<string>>(new Set())
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set())
  const added = jobs.filter(job => !shownIds.has(job.id) && (isUnfinished(job) || started.includes(job.id)))
  if (added.length > 0) setShownIds(new Set([...shownIds, ...added.map(({ id }) => id)]))
  const shown = jobs.filter(job => shownIds.has(job.id) && (isUnfinished(job) || !dismissed.has(job.id)))
  useAnnouncedEnds(shown, storages, announceEnd)
  const ended = shown.filter(job => !isUnfinished(job))
  return (
    <DockPanel label={texts.jobs} title={headline(shown)} isEmpty={shown.length === 0}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the list scrolls */}
      <ul className="job-list" tabIndex={0} aria-label={texts.jobs}>
        {shown.map(job => (
          <Row key={job.id} job={job} title={titleOf(job, storages)} />
        ))}
      </ul>
      <div className="dock-actions">
        <Link to="/settings/jobs">{texts.allJobs}</Link>
        {ended.length > 0 && (
          <Button variant="quiet" onPress={() => setDismissed(new Set([...dismissed, ...ended.map(({ id }) => id)]))}>
            {ended.length === shown.length ? common.close : texts.clearCompleted}
          </Button>
        )}
      </div>
    </DockPanel>
  )
}

function Row({ job, title }: { job: Job; title: string }) {
  return (
    <li className="job-row">
      <span className="job-title" title={title}>
        {title}
      </span>
      <JobProgressBar job={job} label={title} />
      <div className="job-state">
        <span className={job.state === 'FAILED' ? 'job-error' : ''}>{statusOf(job)}</span>
        <JobActions job={job} title={title} />
      </div>
    </li>
  )
}

function headline(jobs: readonly Job[]): string {
  const running = jobs.filter(({ state }) => state === 'RUNNING' || state === 'QUEUED').length
  const failed = jobs.filter(({ state }) => state === 'FAILED').length
  const paused = jobs.filter(({ state }) => state === 'PAUSED').length
  if (running > 0) return texts.jobsRunning(running)
  if (failed > 0) return texts.jobsFailed(failed)
  if (paused > 0) return texts.jobsPaused(paused)
  return texts.jobsEnded(jobs.length)
}

/** Announces the end of each job, and reloads the folders that it may have changed. */
function useAnnouncedEnds(jobs: readonly Job[], storages: ReadonlyMap<string, string>, announceEnd: AnnounceEnd): void {
  const client = useQueryClient()
  const known = useRef(new Map<string, string>())
  useEffect(() => {
    for (const job of jobs) {
      const before = known.current.get(job.id)
      known.current.set(job.id, job.state)
      if (isUnfinished(job) || before === job.state) continue
      announceEnd(client, job, texts.ended(stateTitles[job.state], titleOf(job, storages))).catch(notifyError)
      for (const { providerId } of [...job.sources, ...(job.target ? [job.target] : [])]) {
        void client.invalidateQueries({ queryKey: ['listing', providerId] })
        void client.invalidateQueries({ queryKey: ['subfolders', providerId] })
      }
    }
  }, [jobs, storages, client, announceEnd])
}
