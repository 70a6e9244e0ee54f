import type { Connection, Graphql, RequestOptions } from './graphql.ts'
import type { Location } from './list.ts'
import type { Conflict } from './upload.ts'

export interface EarlierVersion {
  /** The ID for `restore`, `delete` and `files.download`. */
  id: string
  /** Bytes; null if the back end does not report it. */
  size: number | null
  /** The time at which this content was stored; null if the back end does not report it. */
  modifiedAt: Date | null
  /** The time at which it was replaced or deleted; null if the back end that keeps it does not report it. */
  replacedAt: Date | null
  /** The email address of the person who replaced or deleted it; null if you may not see them, or if they have left. */
  replacedBy: string | null
  /** The time after which the server deletes it for good; null for one that the back end keeps by itself. */
  expiresAt: Date | null
}

export interface VersionsOptions extends Location, RequestOptions {}

export interface RestoreVersionOptions extends RequestOptions {
  /** The behavior if there is a file now. Default: `replace`, which keeps that as a version if its storage keeps versions. */
  conflict?: Conflict
}

const versionsQuery = `query Versions($providerId: ID!, $path: String!, $after: String) {
  versions(providerId: $providerId, path: $path, first: 100, after: $after) {
    nodes { id size modifiedAt replacedAt replacedBy { email } expiresAt }
    pageInfo { hasNextPage endCursor }
  }
}`

const restoreMutation = 'mutation Restore($input: RestoreVersionInput!) { restoreVersion(input: $input) { path } }'
const deleteMutation = 'mutation Delete($id: ID!) { deleteVersion(id: $id) }'

interface VersionsResult {
  versions: Connection<{
    id: string
    size: number | null
    modifiedAt: string | null
    replacedAt: string | null
    replacedBy: { email: string } | null
    expiresAt: string | null
  }>
}

/** Yields the earlier versions of a file, the newest first, also those of a deleted file. @throws StowageError */
export async function* listVersions(
  graphql: Graphql,
  { providerId, path, signal }: VersionsOptions,
): AsyncGenerator<EarlierVersion, void, undefined> {
  const connectionOf = ({ versions }: VersionsResult) => versions
  const found = graphql.nodes(versionsQuery, { providerId, path }, connectionOf, signal && { signal })
  for await (const { modifiedAt, replacedAt, replacedBy, expiresAt, ...version } of found) {
    yield {
      ...version,
      modifiedAt: modifiedAt === null ? null : new Date(modifiedAt),
      replacedAt: replacedAt === null ? null : new Date(replacedAt),
      replacedBy: replacedBy?.email ?? null,
      expiresAt: expiresAt === null ? null : new Date(expiresAt),
    }
  }
}

/** Makes a version the content of its file and returns the path, which differs after `rename`. @throws StowageError */
export async function restoreVersion(
  graphql: Graphql,
  id: string,
  { conflict = 'replace', signal }: RestoreVersionOptions,
): Promise<string> {
  const variables = { input: { id, conflict: conflict.toUpperCase() } }
  const result = await graphql.run<{ restoreVersion: { path: string } }, typeof variables>(
    restoreMutation,
    variables,
    signal && { signal },
  )
  return result.restoreVersion.path
}

/** Deletes a version for good. @throws StowageError */
export async function deleteVersion(graphql: Graphql, id: string, { signal }: RequestOptions): Promise<void> {
  await graphql.run<unknown, { id: string }>(deleteMutation, { id }, signal && { signal })
}
