/** The jobs as the server returns them, and the hooks that keep them up to date. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { ask, type StowageError, stowage } from '../api/client.ts'
import { graphql, type ResultOf } from '../api/graphql.ts'
import { queryKeys } from '../api/query-keys.ts'

export const JobFields = graphql(`
  fragment JobFields on Job @_unmask {
    id
    kind
    state
    dryRun
    sources { providerId path }
    target { providerId path }
    targetName
    progress { files bytes skipped deleted failed totalFiles totalBytes bytesPerSecond }
    error { reason message }
    createdAt
    endedAt
    createdBy { id name email }
  }
`)

const JobsQuery = graphql(
  `
  query Jobs($after: String, $state: JobState) {
    jobs(first: 25, after: $after, state: $state) {
      nodes { ...JobFields }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [JobFields],
)

const JobChanged = graphql(
  `
  subscription JobChanged {
    jobChanged { ...JobFields }
  }
`,
  [JobFields],
)

const FailuresQuery = graphql(`
  query JobFailures($id: ID!, $after: String) {
    job(id: $id) {
      failures(first: 50, after: $after) {
        nodes { path reason message }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

const StorageNamesQuery = graphql(`
  query StorageNames {
    providers { id name }
  }
`)

const PauseMutation = graphql(`
  mutation PauseJob($id: ID!) { pauseJob(id: $id) { id } }
`)
const ResumeMutation = graphql(`
  mutation ResumeJob($id: ID!) { resumeJob(id: $id) { id } }
`)
const CancelMutation = graphql(`
  mutation CancelJob($id: ID!) { cancelJob(id: $id) { id } }
`)
const RetryMutation = graphql(`
  mutation RetryJob($id: ID!) { retryJob(id: $id) { id } }
`)

export type Job = ResultOf<typeof JobsQuery>['jobs']['nodes'][number]
export type JobStateName = Job['state']
export type JobAction = 'pause' | 'resume' | 'cancel' | 'retry'

export function isUnfinished({ state }: Job): boolean {
  return state === 'QUEUED' || state === 'RUNNING' || state === 'PAUSED'
}

/** Returns a page of jobs, the newest first. @throws StowageError */
export async function listJobs(after: string | null, state: JobStateName | null, signal: AbortSignal) {
  return (await ask(JobsQuery, { after, state }, { signal })).jobs
}

/** @throws StowageError */
export async function listFailures(id: string, after: string | null, signal: AbortSignal) {
  return (await ask(FailuresQuery, { id, after }, { signal })).job.failures
}

/** Returns the names of the storages by their ids. @throws StowageError */
async function storageNames(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const { providers } = await ask(StorageNamesQuery, {}, { signal })
  return new Map(providers.map(({ id, name }) => [id, name]))
}

const mutations = { pause: PauseMutation, resume: ResumeMutation, cancel: CancelMutation, retry: RetryMutation }

/** @throws StowageError */
export async function control(action: JobAction, id: string): Promise<void> {
  await ask(mutations[action] as typeof PauseMutation, { id })
}

/** Milliseconds between two queries while there is no subscription. */
const pollInterval = 2000

export async function latestJobs(signal: AbortSignal): Promise<readonly Job[]> {
  return (await listJobs(null, null, signal)).nodes
}

const onVisibility = (listener: () => void) => {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

/**
 * Returns the latest jobs, and follows them while one of them runs. A browser opens few connections to a server, so a hidden
 * page does not subscribe. Without a subscription the page asks every few seconds.
 */
export function useJobs(): readonly Job[] {
  const client = useQueryClient()
  const [isLive, setLive] = useState(false)
  const isVisible = useSyncExternalStore(onVisibility, () => !document.hidden)
  const { data = [] } = useQuery({
    queryKey: queryKeys.jobs,
    queryFn: ({ signal }) => latestJobs(signal),
    refetchInterval: ({ state }) => (!isLive && state.data?.some(isUnfinished) ? pollInterval : false),
  })
  const isWanted = isVisible && data.some(isUnfinished)
  useEffect(() => {
    if (!isWanted) return
    const controller = new AbortController()
    const { signal } = controller
    const put = (changed: Job) =>
      client.setQueryData<readonly Job[]>(queryKeys.jobs, (jobs = []) =>
        jobs.some(({ id }) => id === changed.id)
          ? jobs.map(job => (job.id === changed.id ? changed : job))
          : [changed, ...jobs],
      )
    void follow()
      .catch(async () => {
        // The session may have ended.
        if (!signal.aborted) await client.invalidateQueries({ queryKey: queryKeys.session })
      })
      .finally(() => setLive(false))
    return () => controller.abort()

    async function follow(): Promise<void> {
      const shouldRetry = ({ retryable }: StowageError) => {
        setLive(false)
        return retryable
      }
      const changes = stowage.subscribe(JobChanged, {}, { signal, shouldRetry, onOpen: () => setLive(true) })
      for await (const { jobChanged } of changes) put(jobChanged)
    }
  }, [client, isWanted])
  return data
}

/** Returns the names of the storages by their ids. */
export function useStorageNames(): ReadonlyMap<string, string> {
  const { data = new Map<string, string>() } = useQuery({
    queryKey: [...queryKeys.providers, 'names'],
    queryFn: ({ signal }) => storageNames(signal),
  })
  return data
}
