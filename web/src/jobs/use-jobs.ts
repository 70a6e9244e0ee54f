import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { type StowageError, stowage } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { isUnfinished } from './describe.ts'
import { type Job, JobChanged, listJobs } from './operations.ts'

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
