import { Notifier, useNotified } from '../lib/notifier.ts'

let started: readonly string[] = []
const changes = new Notifier()

/** Tells the panel about a job that this page has created. Reload the latest jobs afterwards. */
export function noteJob(id: string): void {
  started = [...started, id]
  changes.notify()
}

/** Returns the ids of the jobs that this page has created. Short jobs can end before anybody sees them run. */
export function useStartedJobs(): readonly string[] {
  return useNotified(changes, () => started)
}
