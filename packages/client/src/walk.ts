import type { Graphql, RequestOptions } from './graphql.ts'
import type { Location } from './location.ts'

export interface WalkedEntry extends Location {
  kind: 'file' | 'folder'
  name: string
  /** Bytes; null for folders, and for files whose size the back end does not report. */
  size: number | null
  modifiedAt: Date | null
  etag: string | null
}

export interface WalkOptions extends Location, RequestOptions {
  /** The number of folders that are listed at once. Default: 8. */
  concurrency?: number
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

interface Listed {
  entries: WalkedEntry[]
  /** The pages that follow from this one. */
  next: PendingPage[]
}

interface PendingPage {
  path: string
  after: string | null
}

/**
 * Yields everything below a folder, several folders at once and in no particular order. A folder comes before its entries.
 * @throws StowageError
 */
export async function* walk(
  graphql: Graphql,
  { providerId, path, concurrency = 8, signal }: WalkOptions,
): AsyncGenerator<WalkedEntry, void, undefined> {
  const waiting: PendingPage[] = [{ path, after: null }]
  const running = new Map<number, Promise<{ id: number; listed: Listed }>>()
  let lastId = 0
  const stop = new AbortController()
  const bounded = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal

  function startNext(): void {
    while (running.size < concurrency) {
      const page = waiting.pop()
      if (!page) return
      lastId += 1
      const id = lastId
      const listing = listPage(graphql, providerId, page, bounded).then(listed => ({ id, listed }))
      // If another page fails first, this failure is of no interest.
      listing.catch(() => {})
      running.set(id, listing)
    }
  }

  try {
    for (startNext(); running.size > 0; startNext()) {
      const { id, listed } = await Promise.race(running.values())
      running.delete(id)
      waiting.push(...listed.next)
      yield* listed.entries
    }
  } finally {
    stop.abort()
  }
}

async function listPage(
  graphql: Graphql,
  providerId: string,
  { path, after }: PendingPage,
  signal: AbortSignal,
): Promise<Listed> {
  const variables = { providerId, path, first: pageSize, after }
  const { folder } = await graphql.run<Page, typeof variables>(pageQuery, variables, { signal })
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
  const next = entries
    .filter(({ kind }) => kind === 'folder')
    .map(folder => ({ path: folder.path, after: null as string | null }))
  if (pageInfo.hasNextPage) next.push({ path, after: pageInfo.endCursor })
  return { entries, next }
}
