import { useEffect, useSyncExternalStore } from 'react'
import type { Given } from './dropped-files.ts'

/** Files that a person chose to upload. They wait here until the upload queue, which loads on first use, takes them. */
export interface Upload {
  given: Given
  providerId: string
  folder: string
}

let waiting: Upload[] = []
let isWanted = false
const listeners = new Set<() => void>()
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function uploadFiles(upload: Upload): void {
  if (upload.given.files.length === 0 && upload.given.emptyFolders.length === 0) return
  waiting = [...waiting, upload]
  isWanted = true
  for (const listener of listeners) listener()
}

/** Hands the waiting uploads to `take`. */
export function useWaitingUploads(take: (upload: Upload) => void): void {
  const uploads = useSyncExternalStore(subscribe, () => waiting)
  useEffect(() => {
    if (uploads.length === 0) return
    const taken = waiting
    waiting = []
    taken.forEach(take)
  }, [uploads, take])
}

const queues = new Set<{ isUnderWay(): boolean }>()

/** Registers a queue until the returned function is called. */
export function registerQueue(queue: { isUnderWay(): boolean }): () => void {
  queues.add(queue)
  return () => queues.delete(queue)
}

/** Whether an upload was requested since the page was loaded. */
export function useUploadsWanted(): boolean {
  return useSyncExternalStore(subscribe, () => isWanted)
}

export function uploadsUnderWay(): boolean {
  return queues.values().some(queue => queue.isUnderWay())
}
