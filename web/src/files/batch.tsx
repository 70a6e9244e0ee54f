import { useEffect, useRef, useState } from 'react'
import { Label, ProgressBar } from 'react-aria-components'
import { texts } from '../texts/files.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import type { Entry } from './operations.ts'

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
      {failures.slice(0, maxShown).map(({ entry, error }) => (
        <div key={`${entry.__typename}/${entry.name}`}>
          <p className="batch-name">{entry.name}</p>
          <ErrorBox error={error} />
        </div>
      ))}
      {failures.length > maxShown && <p>{texts.andMore(failures.length - maxShown)}</p>}
    </div>
  )
}

const concurrency = 3

export interface Failure {
  entry: Entry
  error: unknown
}

/** Runs one action on several entries, a few at a time. A failure does not stop the others. */
export function useBatch(work: (entry: Entry, signal: AbortSignal) => Promise<unknown>) {
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
    const done: Entry[] = []
    const failures: Failure[] = []
    // All workers take their entries from one iterator.
    const remaining = entries.values()
    const worker = async () => {
      for (const entry of remaining) {
        if (signal.aborted) return
        try {
          await work(entry, signal)
          done.push(entry)
          setDoneCount(done.length)
        } catch (error) {
          if (!signal.aborted) failures.push({ entry, error })
        }
      }
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
    setRunning(false)
    return { done, failures }
  }
  return { run, stop: () => controller.current?.abort(), isRunning, doneCount, total }
}
