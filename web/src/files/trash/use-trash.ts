import { useQuery } from '@tanstack/react-query'
import { queryKeys } from '../../api/query-keys.ts'
import { trashOf } from './operations.ts'

/** Returns what happens to files that are deleted in a storage, and to folders that are moved within it. */
export function useStorageTrash(providerId: string) {
  return useQuery(trashTraits(providerId))
}

export function trashTraits(providerId: string) {
  return {
    queryKey: [...queryKeys.providers, 'trash', providerId] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) => trashOf(providerId, signal),
  }
}
