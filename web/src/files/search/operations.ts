import { ask } from '../../api/client.ts'
import { graphql, type ResultOf, type VariablesOf } from '../../api/graphql.ts'

const SearchQuery = graphql(`
  query Search($input: SearchInput!, $first: Int!, $after: String) {
    search(input: $input, first: $first, after: $after) {
      nodes {
        entry { __typename name path modifiedAt ... on File { size mimeType thumbnailUrl } }
        provider { id name }
        snippet
      }
      coverage { provider { id name catalogue { mode state } } isComplete isContentComplete }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

export type SearchInput = VariablesOf<typeof SearchQuery>['input']
export type SearchPage = ResultOf<typeof SearchQuery>['search']
export type Found = SearchPage['nodes'][number]
export type Coverage = SearchPage['coverage'][number]

/** @throws StowageError */
export async function search(
  input: SearchInput,
  { first, after = null }: { first: number; after?: string | null },
  signal: AbortSignal,
): Promise<SearchPage> {
  return (await ask(SearchQuery, { input, first, after }, { signal })).search
}
