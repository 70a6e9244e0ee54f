import type { Connection, Graphql, RequestOptions } from './graphql.ts'
import type { Location } from './list.ts'

/** The content of a file. */
export type FoundFileType = 'image' | 'video' | 'audio' | 'document' | 'spreadsheet' | 'presentation' | 'archive'

export interface SearchOptions extends RequestOptions {
  /** Words that the name or the text of the file contains; words in quotes are one phrase. */
  text: string
  /** The folders to search in. Default: everything that the credential can access. */
  within?: readonly Location[]
  kinds?: readonly ('file' | 'folder')[]
  /** The content of the files, as the extensions of their names tell it. */
  types?: readonly FoundFileType[]
  /** Bytes. */
  minSize?: number
  maxSize?: number
  /** Inclusive. */
  modifiedAfter?: Date
  /** Exclusive. */
  modifiedBefore?: Date
  /** A tag that the entries have. */
  tag?: string
  /** Whether to search in the text of files, too. Default: true. */
  content?: boolean
  /** Called once with how much of each storage the search has covered. */
  onCoverage?: (coverage: SearchCoverage[]) => void
}

export interface SearchCoverage {
  provider: { id: string; name: string }
  /** The server knows every entry where the search looked. */
  isComplete: boolean
  /** Every change before this time was searched; null before the first listing of the storage has ended. */
  indexedAt: Date | null
  /** The server knows the text of every readable file where the search looked. */
  isContentComplete: boolean
}

export interface FoundEntry {
  kind: 'file' | 'folder'
  providerId: string
  /** The name of the storage. */
  providerName: string
  path: string
  name: string
  /** Bytes; null for folders, and for files whose size the back end does not report. */
  size: number | null
  modifiedAt: Date | null
  /** The words around the text in the content of the file, with U+0002 before and U+0003 after each hit; null if the name matches. */
  snippet: string | null
}

const searchQuery = `query Search($input: SearchInput!, $after: String) {
  search(input: $input, first: 100, after: $after) {
    nodes {
      entry { __typename path name modifiedAt ... on File { size } }
      provider { id name }
      snippet
    }
    coverage { provider { id name } isComplete indexedAt isContentComplete }
    pageInfo { hasNextPage endCursor }
  }
}`

interface SearchResult {
  search: Connection<{
    entry: {
      __typename: 'File' | 'Folder'
      path: string
      name: string
      modifiedAt: string | null
      size?: number | null
    }
    provider: { id: string; name: string }
    snippet: string | null
  }> & { coverage: (Omit<SearchCoverage, 'indexedAt'> & { indexedAt: string | null })[] }
}

/** Yields the files and folders that a search finds: the best matches first, then the newest. @throws StowageError */
export async function* search(
  graphql: Graphql,
  { text, within, kinds, types, onCoverage, signal, ...filters }: SearchOptions,
): AsyncGenerator<FoundEntry, void, undefined> {
  const input = {
    text,
    ...(within && { within: within.map(({ providerId, path }) => ({ providerId, path })) }),
    ...(kinds && { kinds: kinds.map(kind => kind.toUpperCase()) }),
    ...(types && { types: types.map(type => type.toUpperCase()) }),
    ...filters,
  }
  let isFirst = true
  const connectionOf = ({ search: found }: SearchResult) => {
    if (isFirst)
      onCoverage?.(found.coverage.map(({ indexedAt, ...each }) => ({ ...each, indexedAt: toDate(indexedAt) })))
    isFirst = false
    return found
  }
  for await (const node of graphql.nodes(searchQuery, { input }, connectionOf, signal && { signal })) {
    const { entry, provider, snippet } = node
    yield {
      kind: entry.__typename === 'File' ? 'file' : 'folder',
      providerId: provider.id,
      providerName: provider.name,
      path: entry.path,
      name: entry.name,
      size: entry.size ?? null,
      modifiedAt: toDate(entry.modifiedAt),
      snippet,
    }
  }
}

function toDate(time: string | null): Date | null {
  return time === null ? null : new Date(time)
}
