import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'

const ReceivedSharesQuery = graphql(`
  query ReceivedShares($first: Int!, $after: String) {
    sharesWithMe(first: $first, after: $after) {
      nodes { id url name isFolder sharedBy note hasPassword expiresAt createdAt }
      pageInfo { endCursor hasNextPage }
    }
  }
`)

export type ReceivedShare = ResultOf<typeof ReceivedSharesQuery>['sharesWithMe']['nodes'][number]

/** Milliseconds between two readings, because others share at any time. The window reads again when it gets the focus, too. */
export const receivedInterval = 30_000

/** Returns one page of what others share with the person, the newest first. @throws StowageError */
export async function listReceived(first: number, after: string | null, signal: AbortSignal) {
  return (await ask(ReceivedSharesQuery, { first, after }, { signal })).sharesWithMe
}

/** Reads what others have shared last. */
export function useNewestReceived(first: number) {
  return useQuery({
    queryKey: [...queryKeys.received, 'newest', first],
    queryFn: async ({ signal }) => (await listReceived(first, null, signal)).nodes,
    refetchInterval: receivedInterval,
  })
}
