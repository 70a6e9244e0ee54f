import type { Graphql, RequestOptions } from './graphql.ts'
import { listPage, type WalkedEntry } from './list.ts'
import type { Location } from './location.ts'

export interface WalkOptions extends Location, RequestOptions {
  /** The number of folders that are listed at once. Default: 8. */
  concurrency?: number
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
      const listing = listFrom(graphql, providerId, page, bounded).then(listed => ({ id, listed }))
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

async function listFrom(
  graphql: Graphql,
  providerId: string,
  { path, after }: PendingPage,
  signal: AbortSignal,
): Promise<Listed> {
  const { entries, after: nextPage } = await listPage(graphql, { providerId, path, after, signal })
  const next: PendingPage[] = entries
    .filter(({ kind }) => kind === 'folder')
    .map(folder => ({ path: folder.path, after: null }))
  if (nextPage !== null) next.push({ path, after: nextPage })
  return { entries, next }
}
