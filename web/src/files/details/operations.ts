import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import type { StorageLocation } from '../../api/paths.ts'

const DetailsQuery = graphql(`
  query EntryDetails($providerId: ID!, $path: String!) {
    entry(providerId: $providerId, path: $path) {
      __typename
      modifiedAt
      ... on File { size mimeType etag checksums { algorithm hex } }
    }
  }
`)

const UsageQuery = graphql(`
  query FolderUsage($providerId: ID!, $path: String!) {
    folder(providerId: $providerId, path: $path) { usage { files folders bytes isComplete } }
  }
`)

const HistoryQuery = graphql(`
  query EntryHistory($filter: AuditEventFilter!) {
    auditEvents(first: 20, filter: $filter) {
      nodes { id at action result userName userEmail address toPath }
    }
  }
`)

export type EntryDetails = ResultOf<typeof DetailsQuery>['entry']
export type Usage = ResultOf<typeof UsageQuery>['folder']['usage']
export type HistoryEvent = ResultOf<typeof HistoryQuery>['auditEvents']['nodes'][number]

/** @throws StowageError */
export async function entryDetails(entry: StorageLocation, signal: AbortSignal): Promise<EntryDetails> {
  return (await ask(DetailsQuery, { ...entry }, { signal })).entry
}

/** @throws StowageError */
export async function folderUsage(folder: StorageLocation, signal: AbortSignal): Promise<Usage> {
  return (await ask(UsageQuery, { ...folder }, { signal })).folder.usage
}

/** Returns the latest events at an entry and below it. Only administrators may read them. @throws StowageError */
export async function entryHistory(
  { providerId, path }: StorageLocation,
  signal: AbortSignal,
): Promise<readonly HistoryEvent[]> {
  const filter = { providerId, pathPrefix: path }
  return (await ask(HistoryQuery, { filter }, { signal })).auditEvents.nodes
}
