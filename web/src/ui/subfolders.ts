import { useQuery } from '@tanstack/react-query'
import { ask } from '../api/client.ts'
import { graphql } from '../api/graphql.ts'
import type { StorageLocation } from '../api/locations.ts'
import { queryKeys } from '../api/query-keys.ts'
import { compareNames } from '../texts/format.ts'

const SubfoldersQuery = graphql(`
  query Subfolders($providerId: ID!, $path: String!, $after: String) {
    folder(providerId: $providerId, path: $path) {
      entries(first: 1000, after: $after) {
        nodes { __typename name }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`)

/** Returns the sorted names of the folders in a folder. @throws StowageError */
async function listSubfolders(folder: StorageLocation, signal: AbortSignal): Promise<string[]> {
  const pageAfter = async (after: string | null) =>
    (await ask(SubfoldersQuery, { ...folder, after }, { signal })).folder.entries
  const names: string[] = []
  for (let after: string | null = null, isLast = false; !isLast; ) {
    const { nodes, pageInfo } = await pageAfter(after)
    for (const { __typename, name } of nodes) if (__typename === 'Folder') names.push(name)
    after = pageInfo.endCursor
    isLast = !pageInfo.hasNextPage
  }
  return names.sort(compareNames)
}

/** Reads the sorted names of the folders in a folder. @param staleTime milliseconds in which they are not read again */
export function useSubfolders(folder: StorageLocation, staleTime: number) {
  return useQuery({
    queryKey: queryKeys.subfolders(folder),
    queryFn: ({ signal }) => listSubfolders(folder, signal),
    staleTime,
  })
}
