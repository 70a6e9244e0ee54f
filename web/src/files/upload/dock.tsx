import { lazy, Suspense, useEffect, useSyncExternalStore } from 'react'
import { fetched } from '../../app/fetched.ts'
import { useSession } from '../../app/use-session.ts'
import type { Given } from './dropped-files.ts'
import { hasUnfinished } from './memory.ts'

/** What people give is kept here until the queue, which is fetched when it is first needed, takes it. */
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

/** Takes what is waiting. */
export function useGivenUploads(take: (upload: Upload) => void): void {
  const uploads = useSyncExternalStore(subscribe, () => waiting)
  useEffect(() => {
    if (uploads.length === 0) return
    const taken = waiting
    waiting = []
    taken.forEach(take)
  }, [uploads, take])
}

const queues = new Set<{ isUnderWay(): boolean }>()

/** Counts until the returned function is called. */
export function noteQueue(queue: { isUnderWay(): boolean }): () => void {
  queues.add(queue)
  return () => queues.delete(queue)
}

export function uploadsUnderWay(): boolean {
  return queues.values().some(queue => queue.isUnderWay())
}

const UploadPanel = lazy(async () => ({ default: (await fetched(import('./panel.tsx'))).UploadPanel }))

/** On every page, as uploads go on while people go elsewhere. */
export function UploadDock() {
  const { user } = useSession().viewer
  const isNeeded = useSyncExternalStore(subscribe, () => isWanted || hasUnfinished())
  return isNeeded ? (
    <Suspense>
      <UploadPanel key={user.id} userId={user.id} />
    </Suspense>
  ) : null
}
