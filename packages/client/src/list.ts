/** Lists folders: one, or everything below it. */
import { expandAtOnce } from './concurrency.ts'
import type { Graphql, RequestOptions } from './graphql.ts'

/** A file or folder of a storage provider. */
export interface Location {
  providerId: string
  /** The absolute path within the provider, such as `/reports/2026.pdf`. */
  path: string
}

export interface WalkedEntry extends Location {
  kind: 'file' | 'folder'
  name: string
  /** Bytes; null for folders, and for files whose size the back end does not report. */
  size: number | null
  modifiedAt: Date | null
  etag: string | null
}

const pageSize = 500

const pageQuery = `query Page($providerId: ID!, $path: String!, $first: Int!, $after: String) {
  folder(providerId: $providerId, path: $path) {
    entries(first: $first, after: $after) {
      nodes { __typename path name modifiedAt ... on File { size etag } }
      pageInfo { hasNextPage endCursor }
    }
  }
}`

interface Page {
  folder: {
    entries: {
      nodes: {
        __typename: 'File' | 'Folder'
        path: string
        name: string
        modifiedAt: string | null
        size?: number | null
        etag?: string | null
      }[]
      pageInfo: { hasNextPage: boolean; endCursor: string | null }
    }
  }
}

interface ListedPage {
  entries: WalkedEntry[]
  /** The cursor of the next page; null after the last one. */
  after: string | null
}

/** @throws StowageError */
async function listPage(
  graphql: Graphql,
  { providerId, path, after, signal }: Location & RequestOptions & { after: string | null },
): Promise<ListedPage> {
  const variables = { providerId, path, first: pageSize, after }
  const { folder } = await graphql.run<Page, typeof variables>(pageQuery, variables, signal && { signal })
  const { nodes, pageInfo } = folder.entries
  const entries = nodes.map(node => ({
    providerId,
    path: node.path,
    name: node.name,
    kind: node.__typename === 'File' ? ('file' as const) : ('folder' as const),
    size: node.size ?? null,
    etag: node.etag ?? null,
    modifiedAt: node.modifiedAt === null ? null : new Date(node.modifiedAt),
  }))
  return { entries, after: pageInfo.hasNextPage ? pageInfo.endCursor : null }
}

/** Yields the entries of one folder. @throws StowageError */
export async function* list(
  graphql: Graphql,
  location: Location & RequestOptions,
): AsyncGenerator<WalkedEntry, void, undefined> {
  for (let after: string | null = null; ; ) {
    const page = await listPage(graphql, { ...location, after })
    yield* page.entries
    if (page.after === null) return
    after = page.after
  }
}

export interface WalkOptions extends Location, RequestOptions {
  /** The number of folders that are listed at once. Default: 8. */
  concurrency?: number
}

interface FolderPage {
  path: string
  after: string | null
}

/**
 * Yields everything below a folder, several folders at once and in no particular order. A folder comes before its entries.
 * @throws StowageError
 */
export async function* walk(
  graphql: Graphql,
  { providerId, path, concurrency = 8, signal: given }: WalkOptions,
): AsyncGenerator<WalkedEntry, void, undefined> {
  const stop = new AbortController()
  const signal = given ? AbortSignal.any([given, stop.signal]) : stop.signal

  async function listFolder({ path, after }: FolderPage) {
    const { entries, after: next } = await listPage(graphql, { providerId, path, after, signal })
    const folders = entries.filter(({ kind }) => kind === 'folder')
    const found: FolderPage[] = folders.map(folder => ({ path: folder.path, after: null }))
    if (next !== null) found.push({ path, after: next })
    return { results: entries, found }
  }

  try {
    yield* expandAtOnce({ path, after: null }, concurrency, listFolder)
  } finally {
    stop.abort()
  }
}
