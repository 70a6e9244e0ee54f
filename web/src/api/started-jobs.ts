import { useSyncExternalStore } from 'react'

let started: readonly string[] = []
const listeners = new Set<() => void>()
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Tells the panel about a job that this page has created. Reload the latest jobs afterwards. */
export function noteJob(id: string): void {
  started = [...started, id]
  for (const listener of listeners) listener()
}

/** Returns the ids of the jobs that this page has created. Short jobs can end before anybody sees them run. */
export function useStartedJobs(): readonly string[] {
  return useSyncExternalStore(subscribe, () => started)
}
