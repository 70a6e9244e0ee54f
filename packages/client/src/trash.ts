import type { Connection, Graphql, RequestOptions } from './graphql.ts'

export interface TrashedEntry {
  /** The ID for `restore`. */
  id: string
  kind: 'file' | 'folder'
  /** The path before the deletion. */
  originalPath: string
  /** Bytes; null for folders, and for files whose size the back end does not report. */
  size: number | null
  deletedAt: Date
  /** The time after which the server deletes it for good. */
  expiresAt: Date
}

export interface TrashOptions extends RequestOptions {
  providerId: string
}

const trashQuery = `query Trash($providerId: ID!, $after: String) {
  trash(providerId: $providerId, first: 100, after: $after) {
    nodes { id kind originalPath size deletedAt expiresAt }
    pageInfo { hasNextPage endCursor }
  }
}`

interface TrashResult {
  trash: Connection<{
    id: string
    kind: 'FILE' | 'FOLDER'
    originalPath: string
    size: number | null
    deletedAt: string
    expiresAt: string
  }>
}

/** Yields what is in the trash of a provider, newest first. @throws StowageError */
export async function* listTrash(
  graphql: Graphql,
  { providerId, signal }: TrashOptions,
): AsyncGenerator<TrashedEntry, void, undefined> {
  const entries = graphql.nodes(trashQuery, { providerId }, ({ trash }: TrashResult) => trash, signal && { signal })
  for await (const { kind, deletedAt, expiresAt, ...entry } of entries) {
    yield {
      ...entry,
      kind: kind === 'FILE' ? 'file' : 'folder',
      deletedAt: new Date(deletedAt),
      expiresAt: new Date(expiresAt),
    }
  }
}
