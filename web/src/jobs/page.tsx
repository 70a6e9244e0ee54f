/** Jobs: their history in this file, the panel that follows them on every page, and the schedules that start them. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useSearchParams } from 'react-router'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/jobs.ts'
import { LoadState } from '../ui/loading.tsx'
import { PageHead } from '../ui/page.tsx'
import { ShowMore, usePages } from '../ui/pages.tsx'
import { RowTable } from '../ui/row-table.tsx'
import { Select } from '../ui/select.tsx'
import { Time } from '../ui/time.tsx'
import { JobActions, JobProgressBar } from './actions.tsx'
import { stateTitles, statusOf, titleOf } from './describe.ts'
import './jobs.css'
import { isUnfinished, type Job, type JobStateName, listJobs, useJobs, useStorageNames } from './jobs.ts'

type Filter = JobStateName | 'ALL'

const filters: { value: Filter; title: string }[] = [
  { value: 'ALL', title: texts.all },
  ...Object.entries(stateTitles).map(([value, title]) => ({ value: value as JobStateName, title })),
]

/** The history of jobs: one's own, and those of everybody for administrators. */
export function JobsPage() {
  const { isUnrestricted } = usePermissions()
  const client = useQueryClient()
  const [search, setSearch] = useSearchParams()
  const filter = filters.find(({ value }) => value === search.get('state'))?.value ?? 'ALL'
  const setFilter = (state: Filter) => setSearch(state === 'ALL' ? {} : { state }, { replace: true })
  const latest = useJobs()
  const storages = useStorageNames()
  const { query, nodes } = usePages([...queryKeys.jobHistory, filter], (after, signal) =>
    listJobs(after, filter === 'ALL' ? null : filter, signal),
  )
  const states = latest.map(({ id, state }) => `${id} ${state}`).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new job, or a new state, changes the pages
  useEffect(() => {
    void client.invalidateQueries({ queryKey: queryKeys.jobHistory })
  }, [client, states])
  const newest = new Map(latest.map(job => [job.id, job]))
  const jobs = nodes?.map(job => newest.get(job.id) ?? job)
  return (
    <>
      <PageHead title={texts.jobs}>
        <Select label={common.status} options={filters} value={filter} onChange={setFilter} />
      </PageHead>
      <p className="help">{texts.jobsHelp}</p>
      <LoadState query={query} label={texts.loadingJobs} />
      {jobs?.length === 0 && <p>{texts.noJobs}</p>}
      {jobs && jobs.length > 0 && (
        <RowTable
          label={texts.jobs}
          columns={[texts.job, texts.progress, ...(isUnrestricted ? [texts.createdBy] : []), common.created]}
        >
          {jobs.map(job => (
            <HistoryRow key={job.id} job={job} title={titleOf(job, storages)} isUnrestricted={isUnrestricted} />
          ))}
        </RowTable>
      )}
      <ShowMore query={query} />
    </>
  )
}

function HistoryRow({ job, title, isUnrestricted }: { job: Job; title: string; isUnrestricted: boolean }) {
  const { createdBy, createdAt, state } = job
  return (
    <tr>
      <td>
        <div className="main-cell">{title}</div>
      </td>
      <td data-label={texts.progress}>
        {isUnfinished(job) && <JobProgressBar job={job} label={title} />}
        <span className={state === 'FAILED' ? 'job-error' : 'help'}>{statusOf(job)}</span>
      </td>
      {isUnrestricted && (
        <td data-label={texts.createdBy}>{createdBy ? (createdBy.name ?? createdBy.email) : texts.formerMember}</td>
      )}
      <td data-label={common.created}>
        <Time at={createdAt} as="distance" />
      </td>
      <td className="actions-cell">
        <JobActions job={job} title={title} />
      </td>
    </tr>
  )
}
