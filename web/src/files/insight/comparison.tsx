import { useMutation, useQueries, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { queryKeys } from '../../api/query-keys.ts'
import { noteJob } from '../../api/started-jobs.ts'
import { texts } from '../../texts/insight.ts'
import { Button } from '../../ui/button.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import type { Provider } from '../operations.ts'
import { compareContents, comparison } from './operations.ts'

/** Milliseconds between two looks at a job. */
const interval = 1000
const isRunning = (state: string | undefined) =>
  state === undefined || state === 'QUEUED' || state === 'RUNNING' || state === 'PAUSED'

/** A button that compares the contents of files of the same size, and how far that is. */
export function Comparison({ providers }: { providers: readonly Provider[] }) {
  const client = useQueryClient()
  const start = useMutation({
    mutationFn: async () => {
      const ids = await compareContents(providers.map(({ id, root }) => ({ providerId: id, path: root.path })))
      for (const id of ids) noteJob(id)
      return ids
    },
    onError: notifyError,
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.jobs }),
  })
  const jobs = useQueries({
    queries: (start.data ?? []).map(id => ({
      queryKey: ['comparison', id],
      queryFn: ({ signal }: { signal: AbortSignal }) => comparison(id, signal),
      refetchInterval: ({ state: { data } }: { state: { data?: { state: string } | undefined } }) =>
        isRunning(data?.state) ? interval : false,
    })),
  }).map(({ data }) => data)
  const isComparing = start.isPending || jobs.some(job => isRunning(job?.state))
  const hasEnded = jobs.length > 0 && !isComparing
  useEffect(() => {
    if (hasEnded) void client.invalidateQueries({ queryKey: ['insight', 'duplicates'] })
  }, [client, hasEnded])
  const read = jobs.reduce((sum, job) => sum + (job?.progress.files ?? 0), 0)
  return (
    <div className="comparison">
      <Button isPending={isComparing} isDisabled={providers.length === 0} onPress={() => start.mutate()}>
        {texts.compare}
      </Button>
      <span className="help" role="status">
        {isComparing
          ? texts.comparing(read)
          : jobs.some(job => job?.state === 'FAILED')
            ? texts.compareFailed
            : texts.compareHelp}
      </span>
    </div>
  )
}
