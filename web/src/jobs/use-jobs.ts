import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { follow } from '../api/events.ts'
import { queryKeys } from '../api/query-keys.ts'
import { ApiError } from '../api/request.ts'
import { isUnfinished } from './describe.ts'
import { type Job, JobChanged, listJobs } from './operations.ts'

/** Milliseconds between two queries while there is no subscription. */
const pollInterval = 2000
/** Milliseconds before the second attempt to subscribe; the time doubles with each attempt. */
const firstRetry = 1000
const lastRetry = 30_000

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
    void stayLive()
    return () => controller.abort()

    async function stayLive(): Promise<void> {
      for (let delay = firstRetry; !signal.aborted; delay = Math.min(2 * delay, lastRetry)) {
        const onOpen = () => {
          delay = firstRetry
          setLive(true)
        }
        const error = await follow(JobChanged, {}, { signal, onOpen, onData: data => put(data.jobChanged) }).then(
          () => null,
          (reason: unknown) => reason,
        )
        setLive(false)
        if (error instanceof ApiError && (error.status === 401 || error.reason === 'SESSION_ENDED')) {
          await client.invalidateQueries({ queryKey: queryKeys.session })
        }
        await new Promise(resolve => {
          setTimeout(resolve, delay)
          signal.addEventListener('abort', resolve, { once: true })
        })
      }
    }
  }, [client, isWanted])
  return data
}
