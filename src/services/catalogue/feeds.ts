/**
 * Asks back ends what has changed, so that the catalogue and all who follow a folder learn of changes that others make. Each back end is
 * asked by one server, again and again, with a cursor that the database keeps.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  claimFeeds,
  type Feed,
  type FeedReport,
  listFeeds,
  releaseFeed,
  storeReport,
} from '../../db/catalogue/feeds.ts'
import { deletePublished, publishOutside } from '../../db/catalogue/outside.ts'
import type { Database } from '../../db/client.ts'
import { findProviders, type ProviderRecord } from '../../db/providers.ts'
import { AppError } from '../../errors.ts'
import { Limiter } from '../../lib/limiter.ts'
import { startPolling } from '../../lib/polling.ts'
import { type RetrySchedule, retryDelay } from '../../lib/retry.ts'
import type { Storage } from '../../storage/index.ts'
import type { CheckedChanges } from '../../storage/validate-changes.ts'
import { fits, hashOfId } from './entry.ts'

/** Milliseconds between two looks for what is due. */
const pollInterval = 1000
/** Looks after which the server takes the catalogues that no other server asks for. */
const looksPerClaim = 5
/** Looks after which old changes are deleted. */
const looksPerSweep = 60
const asksAtOnce = 8
/** Pages of one report. The rest is asked for at the next look. */
const maxPages = 100
/** Milliseconds until a back end that cannot tell is asked again. */
const unableInterval = 60 * 60_000
/** Milliseconds. */
const retries: RetrySchedule = {
  delays: [5_000, 10_000, 20_000, 60_000, 300_000, 900_000],
  isEndless: true,
  jitter: 0.2,
}
/** Failures after which another server may ask, which perhaps reaches the back end. */
const maxFailures = 3

interface FeedContext {
  db: Database
  storage: Pick<Storage, 'reader'>
  /** The id of this server in `catalogue_servers`. */
  server: string
  /** Called when there is something to look at. */
  onReport: () => void
  onError: (error: unknown) => void
}

interface OpenFeed extends Feed {
  /** As of `performance.now()`. */
  askAt: number
  failures: number
  isAsking: boolean
  /** It has reported that everything may have changed, or its first position. */
  hasCompared: boolean
}

/** Returns a function that ends the work. Another server continues it. */
export function startFeeds(context: FeedContext): () => Promise<void> {
  const { db, server, onError } = context
  const feeds = new Map<number, OpenFeed>()
  let records = new Map<string, ProviderRecord>()
  const limiter = new Limiter(asksAtOnce)
  const asking = new Set<Promise<void>>()
  let looks = 0

  async function claim(): Promise<void> {
    await claimFeeds(db, server)
    const mine = new Map((await listFeeds(db, server)).map(feed => [feed.catalogue, feed]))
    for (const id of feeds.keys()) if (!mine.has(id)) feeds.delete(id)
    for (const [id, feed] of mine) {
      const known = feeds.get(id)
      if (known?.isAsking || (known && known.cursor === feed.cursor)) continue
      feeds.set(id, { ...feed, askAt: 0, failures: 0, isAsking: false, hasCompared: false })
    }
    const ids = [...new Set(Array.from(mine.values(), ({ providerId }) => providerId))]
    records = new Map((ids.length > 0 ? await findProviders(db, ids) : []).map(record => [record.id, record]))
  }

  async function search(signal: AbortSignal): Promise<void> {
    if (looks % looksPerClaim === 0) await claim()
    if (looks % looksPerSweep === 0) await deletePublished(db)
    looks += 1
    for (const feed of feeds.values()) {
      const record = records.get(feed.providerId)
      if (!record || feed.isAsking || feed.askAt > performance.now()) continue
      const work: Promise<void> = limiter
        .run(() => askOnce(feed, record, signal))
        .catch(onError)
        .finally(() => asking.delete(work))
      asking.add(work)
    }
    while (!signal.aborted && (await publishOutside(db)));
  }

  async function askOnce(feed: OpenFeed, record: ProviderRecord, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    feed.isAsking = true
    try {
      feed.askAt = performance.now() + (await ask(context, feed, record, signal))
      feed.failures = 0
    } catch (error) {
      if (signal.aborted) return
      feed.failures += 1
      feed.askAt = performance.now() + (retryDelay(retries, feed.failures) ?? 0)
      if (feed.failures % maxFailures === 0) {
        feeds.delete(feed.catalogue)
        await releaseFeed(db, feed, server, (retryDelay(retries, feed.failures + 1) ?? 0) / 1000)
      }
      // The status of the provider shows what its back end reports.
      if (!(error instanceof AppError)) throw error
    } finally {
      feed.isAsking = false
    }
  }

  const polling = startPolling({ interval: pollInterval, search, onError })
  return async () => {
    await polling.stop()
    await Promise.all(asking)
  }
}

/** Asks one back end until it has no more. @returns milliseconds until the next time @throws as `ProviderReader.changes` */
async function ask(
  { db, storage, server, onReport }: FeedContext,
  feed: OpenFeed,
  record: ProviderRecord,
  signal: AbortSignal,
): Promise<number> {
  const reader = await storage.reader(record)
  if (!reader.reportsChanges) return unableInterval
  for (let pages = 0; pages < maxPages; pages++) {
    const page = await reader.changes(feed.cursor, signal)
    if (page === null) return unableInterval
    const isFirst = feed.cursor === null
    if (isFirst || page.cursor !== feed.cursor || page.changed.length > 0) {
      if (!(await storeReport(db, feed, server, reportOf(page, isFirst, feed.hasCompared))))
        return reader.changesInterval
      feed.hasCompared ||= isFirst || page.changed === 'everything'
      feed.cursor = page.cursor
      onReport()
    }
    if (!page.hasMore) break
    await sleep(0, undefined, { signal })
  }
  return reader.changesInterval
}

/** Entries that were listed before the first position was known may have changed since. */
function reportOf({ changed, cursor }: CheckedChanges, isFirst: boolean, hasCompared: boolean): FeedReport {
  const none = { cursor, paths: [], fileIds: [], trees: [] }
  if (isFirst || changed === 'everything') {
    return { ...none, everything: hasCompared ? 'soon' : 'from the beginning' }
  }
  const found = changed.filter(({ path }) => path === null || fits(path))
  return {
    cursor,
    paths: found.flatMap(({ path }) => path ?? []),
    fileIds: found.flatMap(({ fileId }) => (fileId === null ? [] : hashOfId(fileId))),
    trees: found.flatMap(({ path, isTree }) => (isTree && path !== null ? path : [])),
    everything: 'no',
  }
}
