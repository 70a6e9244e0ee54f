import { useDeferredValue, useEffect, useSyncExternalStore } from 'react'
import { Notifier } from '../../lib/notifier.ts'
import type { FileSelection } from './choose-files.tsx'

/** Files that a person chose to upload. They wait here until the upload queue, which loads on first use, takes them. */
export interface UploadRequest {
  selection: FileSelection
  providerId: string
  folder: string
}

let waiting: UploadRequest[] = []
let wasRequested = false
const changes = new Notifier()

export function uploadFiles(request: UploadRequest): void {
  const { files, emptyFolders } = request.selection
  if (files.length === 0 && emptyFolders.length === 0) return
  waiting = [...waiting, request]
  wasRequested = true
  changes.notify()
}

/** Hands the waiting uploads to `take`. */
export function useWaitingUploads(take: (request: UploadRequest) => void): void {
  const requests = useSyncExternalStore(changes.subscribe, () => waiting)
  useEffect(() => {
    if (requests.length === 0) return
    const taken = waiting
    waiting = []
    taken.forEach(take)
  }, [requests, take])
}

const queues = new Set<{ hasActive(): boolean }>()

/** Registers a queue until the returned function is called. */
export function registerQueue(queue: { hasActive(): boolean }): () => void {
  queues.add(queue)
  return () => queues.delete(queue)
}

/**
 * Returns whether an upload was requested since the page was loaded. The value is deferred, because React delays a part that
 * replaces the fallback of a `Suspense` by 300 ms, and a deferred value shows no fallback.
 */
export function useUploadRequested(): boolean {
  return useDeferredValue(useSyncExternalStore(changes.subscribe, () => wasRequested))
}

export function hasActiveUploads(): boolean {
  return queues.values().some(queue => queue.hasActive())
}
