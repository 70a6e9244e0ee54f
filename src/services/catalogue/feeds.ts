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
import type { CheckedChange, CheckedChanges } from '../../storage/validate-changes.ts'
import type { RecentChanges } from '../audit/recent.ts'
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
  /** Changes through this server, which are looked at anyway. */
  recentChanges: Pick<RecentChanges, 'covers'>
  /** Called when there is something to look at. */
  onReport: () => void
  onError: (error: unknown) => void
}

interface OpenFeed extends Feed {
  /** As of `performance.now()`. */
  askAt: number
  failures: number
  /** It has reported that everything may have changed, or its first position. */
  hasCompared: boolean
}

export interface Feeds {
  /**
   * Asks the back end of a new catalogue for its first position. Call this before the first listing: whatever is listed earlier has to be
   * listed again.
   * Never rejects because of the back end.
   */
  begin(catalogue: number, signal: AbortSignal): Promise<void>
  /** Ends the work. Another server continues it. */
  stop(): Promise<void>
}

export function startFeeds(context: FeedContext): Feeds {
  const { db, server, onError } = context
  const feeds = new Map<number, OpenFeed>()
  let records = new Map<string, ProviderRecord>()
  const limiter = new Limiter(asksAtOnce)
  const asking = new Map<OpenFeed, Promise<void>>()
  let looks = 0

  async function claim(): Promise<void> {
    await claimFeeds(db, server)
    const mine = new Map((await listFeeds(db, server)).map(feed => [feed.catalogue, feed]))
    for (const id of feeds.keys()) if (!mine.has(id)) feeds.delete(id)
    for (const [id, feed] of mine) {
      const known = feeds.get(id)
      if (known && (asking.has(known) || known.cursor === feed.cursor)) continue
      feeds.set(id, { ...feed, askAt: 0, failures: 0, hasCompared: false })
    }
    const ids = [...new Set(Array.from(mine.values(), ({ providerId }) => providerId))]
    records = new Map((ids.length > 0 ? await findProviders(db, ids) : []).map(record => [record.id, record]))
  }

  async function search(signal: AbortSignal): Promise<void> {
    if (looks % looksPerClaim === 0) await claim()
    if (looks % looksPerSweep === 0) await deletePublished(db)
    looks += 1
    for (const feed of feeds.values()) if (!asking.has(feed)) startAsking(feed, signal)
    while (!signal.aborted && (await publishOutside(db)));
  }

  function startAsking(feed: OpenFeed, signal: AbortSignal): void {
    const record = records.get(feed.providerId)
    // The looks are as far apart as the questions to a local disk, so one that comes a little early must not wait for the next.
    if (!record || feed.askAt > performance.now() + pollInterval / 2) return
    const work = limiter
      .run(() => askOnce(feed, record, signal))
      .catch(onError)
      .finally(() => asking.delete(feed))
    asking.set(feed, work)
  }

  async function askOnce(feed: OpenFeed, record: ProviderRecord, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
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
    }
  }

  const polling = startPolling({ interval: pollInterval, search, onError })
  return {
    async begin(catalogue, signal) {
      await claim()
      const feed = feeds.get(catalogue)
      if (!feed || feed.cursor !== null) return
      if (!asking.has(feed)) startAsking(feed, signal)
      await asking.get(feed)
    },
    async stop() {
      await polling.stop()
      await Promise.all(asking.values())
    },
  }
}

/** Asks one back end until it has no more. @returns milliseconds until the next time @throws as `ProviderReader.changes` */
async function ask(
  { db, storage, server, recentChanges, onReport }: FeedContext,
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
      const changed = page.changed === 'everything' ? page.changed : withoutOwn(page.changed, feed, recentChanges)
      const report = reportOf({ ...page, changed }, isFirst, feed.hasCompared)
      if (!(await storeReport(db, feed, server, report))) return reader.changesInterval
      feed.hasCompared ||= isFirst || page.changed === 'everything'
      feed.cursor = page.cursor
      if (hasWork(report)) onReport()
    }
    if (!page.hasMore) break
    await sleep(0, undefined, { signal })
  }
  return reader.changesInterval
}

function hasWork({ paths, fileIds, trees, everything }: FeedReport): boolean {
  return everything !== 'no' || paths.length + fileIds.length + trees.length > 0
}

/** Leaves out what was changed through this server, unless it may have changed again since. */
function withoutOwn(
  changed: readonly CheckedChange[],
  { providerId }: Feed,
  recent: Pick<RecentChanges, 'covers'>,
): readonly CheckedChange[] {
  const now = performance.now()
  return changed.filter(({ path, fileId, isTree, noticedAt }) => {
    // The entry may be at another path, too.
    if (path === null || fileId !== null) return true
    return !recent.covers({ providerId, path, isTree, noticedAt: noticedAt ?? now })
  })
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
