import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Label, ProgressBar } from 'react-aria-components'
import { sourcesOfJobs } from '../api/client.ts'
import { workConcurrently } from '../api/concurrency.ts'
import { childPath, type StorageLocation } from '../api/locations.ts'
import { queryKeys } from '../api/query-keys.ts'
import { noteJob } from '../api/started-jobs.ts'
import { texts } from '../texts/files.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { createJob, type Entry, type JobConflict } from './operations.ts'

export function BatchProgress({ label, done, total }: { label: string; done: number; total: number }) {
  return (
    <ProgressBar value={done} maxValue={total} valueLabel={texts.progress(done, total)} className="progress">
      {({ percentage, valueText }) => (
        <>
          <Label>
            {label}: {valueText}
          </Label>
          <div className="progress-track">
            <div className="progress-fill" style={{ width: `${percentage}%` }} />
          </div>
        </>
      )}
    </ProgressBar>
  )
}

const maxShown = 5

/** Lists the entries that failed, each with its error. */
export function BatchFailures({ failures }: { failures: readonly Failure[] }) {
  return (
    <div className="batch-failures">
      {failures.slice(0, maxShown).map(({ item: { __typename, name }, error }) => (
        <div key={`${__typename}/${name}`}>
          <p className="batch-name">{name}</p>
          <ErrorBox error={error} />
        </div>
      ))}
      {failures.length > maxShown && <p>{texts.andMore(failures.length - maxShown)}</p>}
    </div>
  )
}

const concurrency = 3

export interface Failure {
  item: Entry
  error: unknown
}

/** Runs one action on several entries, a few at a time. A failure does not stop the others. */
export function useBatch(act: (entry: Entry, signal: AbortSignal) => Promise<unknown>) {
  const [doneCount, setDoneCount] = useState(0)
  const [total, setTotal] = useState(0)
  const [isRunning, setRunning] = useState(false)
  const controller = useRef<AbortController | null>(null)
  useEffect(() => () => controller.current?.abort(), [])

  /** Entries that were not finished when the batch was stopped are in neither list. */
  const run = async (entries: readonly Entry[]): Promise<{ done: Entry[]; failures: Failure[] }> => {
    controller.current = new AbortController()
    const { signal } = controller.current
    setDoneCount(0)
    setTotal(entries.length)
    setRunning(true)
    let count = 0
    const work = async (entry: Entry) => {
      await act(entry, signal)
      count += 1
      setDoneCount(count)
    }
    const outcome = await workConcurrently(entries, concurrency, work, signal)
    setRunning(false)
    return outcome
  }
  return { run, stop: () => controller.current?.abort(), isRunning, doneCount, total }
}

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
