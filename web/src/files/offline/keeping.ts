import { useEffect } from 'react'
import { canKeep, keptCacheOf } from '../../api/device.ts'
import { childPath, type StorageLocation } from '../../api/locations.ts'
import { useSession } from '../../api/session.ts'
import { loadPart } from '../../lib/load-part.ts'
import { notifyError } from '../../ui/toasts.tsx'
import type { Entry } from '../operations.ts'
import { keptUrl, readKept, useKept } from './kept.ts'

export interface Keeping {
  isKept: boolean
  run: () => void
}

/** Returns what keeps the files of a selection on this device, or removes them from it; null for folders. */
export function useKeeping(): (folder: StorageLocation, entries: readonly Entry[]) => Keeping | null {
  const cacheName = keptCacheOf(useSession().viewer.user.id)
  const kept = useKept()
  const isKnown = kept?.cacheName === cacheName
  useEffect(() => {
    if (canKeep && !isKnown) readKept(cacheName).catch(() => {})
  }, [cacheName, isKnown])
  return (folder, entries) => {
    if (!canKeep || entries.some(({ __typename }) => __typename === 'Folder')) return null
    const chosen = entries.flatMap(entry =>
      entry.__typename === 'File' ? { ...folder, path: childPath(folder.path, entry.name), size: entry.size ?? 0 } : [],
    )
    const isKept = isKnown && chosen.every(file => kept.urls.has(keptUrl(file)))
    const run = async () => {
      const { keepAll, removeAll } = await loadPart(import('./kept-files.ts'))
      await (isKept ? removeAll(cacheName, chosen) : keepAll(cacheName, chosen))
    }
    return { isKept, run: () => void run().catch(notifyError) }
  }
}
