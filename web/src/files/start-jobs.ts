import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { sourcesOfJobs } from '../api/client.ts'
import { childPath, type StorageLocation } from '../api/paths.ts'
import { queryKeys } from '../api/query-keys.ts'
import { noteJob } from '../api/started-jobs.ts'
import { createJob, type Entry, type JobConflict } from './operations.ts'

interface Work {
  kind: 'COPY' | 'MOVE' | 'DELETE'
  entries: readonly Entry[]
  target?: StorageLocation
  conflict?: JobConflict
}

/** Starts jobs on entries of a folder. The panel of jobs shows their progress. */
export function useStartJobs(folder: StorageLocation) {
  const client = useQueryClient()
  /** Entries whose jobs have started. Another attempt continues after them. */
  const startedCount = useRef(0)
  return useMutation({
    mutationFn: async ({ entries, ...work }: Work) => {
      const all = entries.map(({ name }) => ({ ...folder, path: childPath(folder.path, name) }))
      for (const sources of sourcesOfJobs(all.slice(startedCount.current))) {
        noteJob(await createJob({ ...work, sources }))
        startedCount.current += sources.length
      }
    },
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.jobs }),
  })
}
