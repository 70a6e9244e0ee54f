import { useQuery } from '@tanstack/react-query'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions } from '../api/session.ts'
import { listProviders } from './operations.ts'

/** Returns the topmost folders of all providers that the viewer may use; none if the viewer may not read. */
export function useProviders() {
  const { canRead } = usePermissions()
  return useQuery({
    queryKey: [...queryKeys.providers, 'files', canRead],
    queryFn: ({ signal }) => (canRead ? listProviders(signal) : []),
    staleTime: 30_000,
    // The status follows what the calls of everybody show.
    refetchInterval: 30_000,
  })
}
