/** The GraphQL operations of the versions of files. */
import { useQuery } from '@tanstack/react-query'
import { ask, StowageError } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import type { StorageLocation } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'

/** The links are valid for six hours, which is long enough to pause a film and continue later. */
const VersionFields = graphql(`
  fragment VersionFields on Version @_unmask {
    id isCurrent size mimeType modifiedAt replacedAt replacedBy { name email } expiresAt
    downloadUrl(inline: true, expiresIn: 21600)
  }
`)

const FileVersionsQuery = graphql(
  `
    query FileVersions($providerId: ID!, $path: String!) {
      file(providerId: $providerId, path: $path) {
        versions(first: 50) { nodes { ...VersionFields } pageInfo { hasNextPage endCursor } }
      }
    }
  `,
  [VersionFields],
)

const EarlierVersionsQuery = graphql(
  `
    query EarlierVersions($providerId: ID!, $path: String!, $after: String) {
      versions(providerId: $providerId, path: $path, first: 50, after: $after) {
        nodes { ...VersionFields } pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [VersionFields],
)

const VersionTraitsQuery = graphql(`
  query VersionTraits($id: ID!) {
    provider(id: $id) { versions { count days } }
  }
`)

const RestoreVersionMutation = graphql(`
  mutation RestoreVersion($input: RestoreVersionInput!) {
    restoreVersion(input: $input) { path }
  }
`)

const DeleteVersionMutation = graphql(`
  mutation DeleteVersion($id: ID!) {
    deleteVersion(id: $id)
  }
`)

type VersionPage = ResultOf<typeof EarlierVersionsQuery>['versions']
export type FileVersion = VersionPage['nodes'][number]

/** Returns a page of versions. The first one begins with the content of the file now, unless it was deleted. @throws StowageError */
export async function versionsOf(
  file: StorageLocation,
  after: string | null,
  signal: AbortSignal,
): Promise<VersionPage> {
  if (after === null) {
    try {
      return (await ask(FileVersionsQuery, { ...file }, { signal })).file.versions
    } catch (error) {
      if (!(error instanceof StowageError) || error.reason !== 'NOT_FOUND') throw error
    }
  }
  return (await ask(EarlierVersionsQuery, { ...file, after }, { signal })).versions
}

/** Returns how many versions of a file a storage keeps, and for how many days. */
export function useVersionTraits(providerId: string) {
  return useQuery({
    queryKey: [...queryKeys.providers, 'versions', providerId],
    queryFn: async ({ signal }) => (await ask(VersionTraitsQuery, { id: providerId }, { signal })).provider.versions,
  })
}

/** Returns the path of the file. @throws StowageError */
export async function restoreVersion(id: string): Promise<string> {
  return (await ask(RestoreVersionMutation, { input: { id } })).restoreVersion.path
}

/** @throws StowageError */
export async function deleteVersion(id: string): Promise<void> {
  await ask(DeleteVersionMutation, { id })
}
