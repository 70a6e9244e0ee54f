import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import { common } from '../texts/common.ts'
import { Button } from './button.tsx'

interface ItemPage {
  nodes: readonly unknown[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
}

/**
 * Reads a list of the server page by page.
 * @param load returns the page after a cursor, or the first one after null
 * @param refetchInterval milliseconds between two readings of all pages that are shown. By default they are not read again.
 */
export function usePages<P extends ItemPage>(
  queryKey: QueryKey,
  load: (after: string | null, signal: AbortSignal) => Promise<P>,
  refetchInterval: number | false = false,
) {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) => load(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ pageInfo }: P) => (pageInfo.hasNextPage ? pageInfo.endCursor : null),
    refetchInterval,
  })
  const nodes = query.data?.pages.flatMap((page): readonly P['nodes'][number][] => page.nodes)
  return { query, nodes }
}

/** The button that reads the next page, if there is one. */
export function ShowMore({
  query: { hasNextPage, fetchNextPage, isFetchingNextPage },
  className = '',
}: {
  query: { hasNextPage: boolean; fetchNextPage: () => Promise<unknown>; isFetchingNextPage: boolean }
  className?: string
}) {
  if (!hasNextPage) return null
  return (
    <Button className={className} onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
      {common.showMore}
    </Button>
  )
}
