import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions } from '../api/session.ts'
import { lazyPart } from '../lib/load-part.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/jobs.ts'
import { ProgressBar } from '../ui/progress-bar.tsx'
import { notifyError } from '../ui/toasts.tsx'
import { actionsOf, percentOf } from './describe.ts'
import { control, type Job, type JobAction } from './jobs.ts'

const FailuresDialog = lazyPart(async () => (await import('./failures-dialog.tsx')).FailuresDialog)

/** The actions for a job as links in a row. */
export function JobActions({ job, title }: { job: Job; title: string }) {
  const { canWrite } = usePermissions()
  const client = useQueryClient()
  const [isListing, setListing] = useState(false)
  const act = useMutation({
    mutationFn: (action: JobAction) => control(action, job.id),
    onError: notifyError,
    onSettled: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: queryKeys.jobs }),
        client.invalidateQueries({ queryKey: queryKeys.jobHistory }),
        client.invalidateQueries({ queryKey: queryKeys.schedules }),
      ]),
  })
  const link = (label: string, run: () => void) => (
    <button type="button" key={label} className="link-button" aria-label={common.actionOn(label, title)} onClick={run}>
      {label}
    </button>
  )
  return (
    <span className="job-actions">
      {job.progress.failed > 0 && link(texts.failures, () => setListing(true))}
      {canWrite && actionsOf(job).map(action => link(texts.actions[action], () => act.isPending || act.mutate(action)))}
      {isListing && (
        <Suspense>
          <FailuresDialog job={job} title={title} onClose={() => setListing(false)} />
        </Suspense>
      )}
    </span>
  )
}

export function JobProgressBar({ job, label }: { job: Job; label: string }) {
  return <ProgressBar label={label} percent={percentOf(job)} state={job.state.toLowerCase()} />
}
