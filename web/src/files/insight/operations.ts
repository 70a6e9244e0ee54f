import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import type { StorageLocation } from '../../api/locations.ts'
import type { LocatedEntry } from '../entry-list/list.tsx'

const UsageQuery = graphql(`
  query StorageUsage($within: [LocationInput!]) {
    storageUsage(within: $within) {
      files bytes directFiles directBytes isComplete
      parts { provider { id name } path files bytes }
    }
  }
`)

const LocatedFileFields = graphql(`
  fragment LocatedFileFields on LocatedFile @_unmask {
    file { __typename name path modifiedAt size mimeType thumbnailUrl }
    provider { id name }
  }
`)

const RankedFilesQuery = graphql(
  `
  query RankedFiles($within: [LocationInput!], $rank: FileRank!) {
    rankedFiles(within: $within, rank: $rank, first: 50) { ...LocatedFileFields }
  }
`,
  [LocatedFileFields],
)

const DuplicatesQuery = graphql(
  `
  query Duplicates($providerId: ID, $after: String) {
    duplicates(providerId: $providerId, first: 20, after: $after) {
      nodes { size checksum { algorithm hex } files { ...LocatedFileFields } }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [LocatedFileFields],
)

export type Usage = ResultOf<typeof UsageQuery>['storageUsage']
export type Rank = 'LARGEST' | 'OLDEST'

type LocatedFile = ResultOf<typeof RankedFilesQuery>['rankedFiles'][number]

export const toEntry = ({ file, provider }: LocatedFile): LocatedEntry => ({
  ...file,
  providerId: provider.id,
  storage: provider.name,
})

/** The folders to look at; null for all storages. */
export type Within = StorageLocation | null

const listOf = (within: Within) => (within === null ? null : [{ ...within }])

/** @throws StowageError */
export async function storageUsage(within: Within, signal: AbortSignal): Promise<Usage> {
  return (await ask(UsageQuery, { within: listOf(within) }, { signal })).storageUsage
}

/** @throws StowageError */
export async function rankedFiles(within: Within, rank: Rank, signal: AbortSignal): Promise<LocatedEntry[]> {
  return (await ask(RankedFilesQuery, { within: listOf(within), rank }, { signal })).rankedFiles.map(toEntry)
}

/** @throws StowageError */
export async function duplicates(providerId: string | null, after: string | null, signal: AbortSignal) {
  return (await ask(DuplicatesQuery, { providerId, after }, { signal })).duplicates
}
