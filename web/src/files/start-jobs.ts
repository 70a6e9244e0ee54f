import { useMutation, useQueryClient } from '@tanstack/react-query'
import { childPath, type StorageLocation } from '../api/paths.ts'
import { queryKeys } from '../api/query-keys.ts'
import { noteJob } from '../api/started-jobs.ts'
import { notifyError } from '../ui/toasts.tsx'
import { createJob, type Entry, type JobConflict } from './operations.ts'

/** The maximum number of sources of one job. */
const maxSources = 100

interface Work {
  kind: 'COPY' | 'MOVE' | 'DELETE'
  entries: readonly Entry[]
  target?: StorageLocation
  conflict?: JobConflict
}

/** Starts jobs on entries of a folder. The panel of jobs shows their progress. */
export function useStartJobs(folder: StorageLocation) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async ({ entries, ...work }: Work) => {
      const all = entries.map(({ name }) => ({ ...folder, path: childPath(folder.path, name) }))
      for (let from = 0; from < all.length; from += maxSources) {
        noteJob(await createJob({ ...work, sources: all.slice(from, from + maxSources) }))
      }
    },
    onError: notifyError,
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.jobs }),
  })
}
