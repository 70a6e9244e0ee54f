import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { usePermissions } from '../../api/session.ts'
import type { LocatedEntry } from '../operations.ts'

const NewestFilesQuery = graphql(`
  query NewestFiles($first: Int!) {
    rankedFiles(rank: NEWEST, first: $first) {
      file { __typename name path modifiedAt size mimeType thumbnailUrl }
      provider { id name }
    }
  }
`)

/** Milliseconds between two readings, because other people add files, too. */
const interval = 60_000

/** Returns the files of all storages that were changed last, as the catalogues know them. @throws StowageError */
async function newestFiles(first: number, signal: AbortSignal): Promise<LocatedEntry[]> {
  const { rankedFiles } = await ask(NewestFilesQuery, { first }, { signal })
  return rankedFiles.map(({ file, provider }) => ({ ...file, providerId: provider.id, storage: provider.name }))
}

/** Reads the files of all storages that were changed last. */
export function useNewestFiles(first: number) {
  const { canRead } = usePermissions()
  return useQuery({
    queryKey: ['newest', first],
    queryFn: ({ signal }) => newestFiles(first, signal),
    enabled: canRead,
    staleTime: 5000,
    refetchInterval: interval,
  })
}
