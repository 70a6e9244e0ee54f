import type { QueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { workConcurrently } from '../api/concurrency.ts'
import { parentPath, type StorageLocation } from '../api/locations.ts'
import { queryKeys } from '../api/query-keys.ts'
import { texts } from '../texts/trash.tsx'
import { notify, notifyError } from '../ui/toasts.tsx'
import { restore, trashedBy } from './trash/operations.ts'

interface EndedJob {
  id: string
  kind: string
  sources: readonly StorageLocation[]
}

/** The number of entries that are worked on at the same time. */
const concurrency = 3

/** Says what was done, and offers for some seconds to undo it. `folders` are those that the undoing changes. */
export function offerUndo(
  client: QueryClient,
  text: ReactNode,
  folders: readonly StorageLocation[],
  steps: readonly (() => Promise<unknown>)[],
): void {
  const undo = async () => {
    const { failures } = await workConcurrently(steps, concurrency, step => step())
    const [first] = failures
    if (first) notifyError(first.error)
    else notify(texts.undone)
    await Promise.all([
      ...folders.map(folder => client.invalidateQueries({ queryKey: queryKeys.listing(folder) })),
      ...folders.map(folder => client.invalidateQueries({ queryKey: queryKeys.subfolders(folder) })),
      client.invalidateQueries({ queryKey: queryKeys.trash }),
    ])
  }
  notify(text, { label: texts.undo, run: () => void undo() })
}

/** Says that a job has ended, and offers to restore what it has moved to the trash. */
export async function announceEnd(client: QueryClient, { id, kind, sources }: EndedJob, text: string): Promise<void> {
  const [providerId] = kind === 'DELETE' ? new Set(sources.map(source => source.providerId)) : []
  const items = providerId === undefined ? [] : await trashedBy(id, providerId).catch(() => [])
  if (providerId === undefined || items.length === 0) return notify(text)
  const paths = new Set(items.map(({ originalPath }) => parentPath(originalPath)))
  const folders = Array.from(paths, path => ({ providerId, path }))
  offerUndo(
    client,
    text,
    folders,
    items.map(item => () => restore(item.id)),
  )
}
