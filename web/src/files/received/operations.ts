import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
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

/** Milliseconds between two readings while the window is in sight, because others share at any time. */
export const receivedInterval = 30_000

/** Reads what is shown again when the window comes into sight or gets the focus. */
export function useReceivedInSight(): void {
  const client = useQueryClient()
  useEffect(() => {
    const read = () => {
      if (document.visibilityState !== 'visible') return
      // A window that comes into sight gets the focus, too, and needs one reading.
      void client.invalidateQueries({ queryKey: queryKeys.received }, { cancelRefetch: false })
    }
    addEventListener('focus', read)
    document.addEventListener('visibilitychange', read)
    return () => {
      removeEventListener('focus', read)
      document.removeEventListener('visibilitychange', read)
    }
  }, [client])
}

/** Returns one page of what others share with the person, the newest first. @throws StowageError */
export async function listReceived(first: number, after: string | null, signal: AbortSignal) {
  return (await ask(ReceivedSharesQuery, { first, after }, { signal })).sharesWithMe
}

/** Reads what others have shared last. */
export function useNewestReceived(first: number) {
  useReceivedInSight()
  return useQuery({
    queryKey: [...queryKeys.received, 'newest', first],
    queryFn: async ({ signal }) => (await listReceived(first, null, signal)).nodes,
    refetchInterval: receivedInterval,
  })
}
