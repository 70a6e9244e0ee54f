import { useEffect, useRef } from 'react'
import { childPath, nameOfPath, parentPath, type StorageLocation } from '../../api/locations.ts'
import { useSession } from '../../api/session.ts'
import { RecentList } from '../../lib/recent-list.ts'
import type { Entry } from '../operations.ts'

/** The sample folders that a person has added in this browser. */
const added = new RecentList<StorageLocation>(
  'stowage.sample-folders',
  4,
  (a, b) => a.providerId === b.providerId && a.path === b.path,
)

/** Returns functions that remember the sample folder of this name, and forget it. */
export function useSampleMemory({ providerId, path }: StorageLocation, name: string) {
  const { id } = useSession().viewer.user
  const sample = { providerId, path: childPath(path, name) }
  return { remember: () => added.add(id, sample), forget: () => added.remove(id, sample) }
}

/** Returns the sample folder among the entries of a folder, until somebody removes it or the person dismisses its bar. */
export function useSampleFolder(
  { providerId, path }: StorageLocation,
  entries: readonly Entry[],
  isComplete: boolean,
): Entry | undefined {
  const { id } = useSession().viewer.user
  const sample = added.useItems(id).find(item => item.providerId === providerId && parentPath(item.path) === path)
  const name = sample && nameOfPath(sample.path)
  const found = sample && entries.find(entry => entry.name === name && entry.__typename === 'Folder')
  const hasFound = useRef(false)
  useEffect(() => {
    if (found) hasFound.current = true
    // Until its first file is stored, the folder is not there yet.
    else if (sample && isComplete && hasFound.current) added.remove(id, sample)
  }, [id, found, sample, isComplete])
  return found
}
