/** Follows the changes that others make to the open folders, over one subscription of all pages of this browser. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { StorageLocation } from '../../api/locations.ts'

/** Milliseconds between two readings because of changes; of a folder with many entries, more. */
const readInterval = 1000
const longReadInterval = 30_000
const manyEntries = 2000

/** Reads a folder again when anybody changes it. */
export function useChanges({ providerId, path }: StorageLocation, isUsable: boolean, count: number): void {
  const client = useQueryClient()
  const interval = count > manyEntries ? longReadInterval : readInterval
  useEffect(() => {
    if (!isUsable) return
    const ending = new AbortController()
    const { signal } = ending
    // Without the file, which a page of an earlier version may not find, the folder is shown without the changes of others.
    void import('./follow-folder.ts')
      .then(({ followFolder }) => {
        if (!signal.aborted) followFolder(client, { providerId, path }, { interval, signal })
      })
      .catch(() => {})
    return () => ending.abort()
  }, [client, providerId, path, isUsable, interval])
}
