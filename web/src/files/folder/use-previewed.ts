import { useEffect, useState } from 'react'
import { useSearchParams } from 'react-router'
import { childPath, type StorageLocation } from '../../api/paths.ts'
import { useSession } from '../../api/use-session.ts'
import type { Entry } from '../operations.ts'
import { noteOpened } from '../sidebar/recent-files.ts'

/** The file that the address of the page names, which is shown above the folder. */
export function usePreviewed({ providerId, path }: StorageLocation, entries: readonly Entry[]) {
  const [search, setSearch] = useSearchParams()
  const name = search.get('file')
  const found = entries.find(entry => entry.__typename === 'File' && entry.name === name)
  // A file that somebody deletes or renames stays open, because the person may be editing it.
  const [opened, setOpened] = useState<Entry | null>(null)
  if (found && found !== opened) setOpened(found)
  const entry = found ?? (opened?.name === name ? opened : undefined)
  const { id: userId } = useSession().viewer.user
  const openedName = entry?.name ?? null
  useEffect(() => {
    if (openedName !== null) noteOpened(userId, { providerId, path: childPath(path, openedName) })
  }, [userId, providerId, path, openedName])
  return {
    name,
    entry,
    show: (file: string) => setSearch({ file }, { replace: true }),
    close: () => setSearch({}, { replace: true }),
  }
}
