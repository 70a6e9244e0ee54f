import { ask, sourcesOfJobs } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import type { StorageLocation } from '../../api/locations.ts'
import type { LocatedEntry } from '../operations.ts'
import { createJob } from '../operations.ts'

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

const IndexedStoragesQuery = graphql(`
  query IndexedStorages {
    providers { id catalogue { mode } }
  }
`)

const ComparisonQuery = graphql(`
  query Comparison($id: ID!) {
    job(id: $id) { state progress { files } }
  }
`)

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

/** Starts the jobs that read files of equal sizes in these folders. Returns their ids. @throws StowageError */
export async function compareContents(folders: readonly StorageLocation[]): Promise<string[]> {
  const { providers } = await ask(IndexedStoragesQuery, {})
  const indexed = new Set(providers.flatMap(({ id, catalogue }) => (catalogue.mode === 'OFF' ? [] : id)))
  const ids: string[] = []
  for (const sources of sourcesOfJobs(folders.filter(({ providerId }) => indexed.has(providerId)))) {
    ids.push(await createJob({ kind: 'CHECKSUM', sources }))
  }
  return ids
}

/** @throws StowageError */
export async function comparison(id: string, signal: AbortSignal) {
  return (await ask(ComparisonQuery, { id }, { signal })).job
}

/** @throws StowageError */
export async function duplicates(providerId: string | null, after: string | null, signal: AbortSignal) {
  return (await ask(DuplicatesQuery, { providerId, after }, { signal })).duplicates
}
