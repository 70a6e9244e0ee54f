/**
 * Counts requests loosely: in memory, without delaying any request. A replica writes a count to the database only once
 * it has reached a hundredth of the limit, at most twice a second, with one statement for all subjects. Clients with
 * few requests therefore cause no writes. While the database does not respond, each replica enforces the limits alone.
 */
import type { Database } from '../../db/client.ts'
import { addHits } from '../../db/rate-limits.ts'
import { keyOf, type RateLimit } from './rules.ts'

export interface Meter {
  /**
   * Returns the milliseconds until the next hit is allowed; null if it is allowed now.
   * @param more further hits to expect
   */
  wait(subject: string, more?: number): number | null
  add(subject: string): void
}

interface Count {
  rule: RateLimit
  subject: string
  /** The hits of all replicas, as of the last write. */
  shared: number
  /** Hits on this replica that are not yet in the database. */
  own: number
  /** Milliseconds of `performance.now()`. */
  endsAt: number
}

/** The maximum number of subjects per rule. Beyond it, the oldest are forgotten. */
const maxSubjects = 10_000
/** Rows in one statement. */
const maxRows = 1000
/** Milliseconds between two statements. */
const writeInterval = 500
/** Milliseconds to wait when only expected hits exceed the limit. */
const expectedWait = 1000
/** The share of the limit from which a count is written to the database. */
const notableShare = 0.01

export function createMeters(db: Database, onError: (error: unknown) => void) {
  const due = new Set<Count>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | undefined
  let lastWrite = Number.NEGATIVE_INFINITY

  function schedule(): void {
    if (timer || writing || due.size === 0) return
    const delay = Math.max(0, lastWrite + writeInterval - performance.now())
    timer = setTimeout(() => {
      timer = undefined
      writing = write().finally(() => {
        writing = undefined
        lastWrite = performance.now()
        schedule()
      })
    }, delay).unref()
  }

  async function write(): Promise<void> {
    const taken = [...due].slice(0, maxRows)
    for (const count of taken) due.delete(count)
    const counts = taken.filter(({ endsAt }) => endsAt > performance.now())
    const added = counts.map(({ rule, subject, own }) => ({
      key: keyOf(rule, subject),
      hits: own,
      window: rule.window,
    }))
    try {
      const totals = await addHits(db, added)
      for (const [index, count] of counts.entries()) {
        const { hits, remaining } = totals[index] ?? { hits: 0, remaining: 0 }
        count.shared = hits
        count.own -= added[index]?.hits ?? 0
        count.endsAt = performance.now() + remaining
      }
    } catch (error) {
      onError(error)
    }
  }

  function meter(rule: RateLimit): Meter {
    const counts = new Map<string, Count>()
    const notable = Math.max(1, Math.floor(rule.limit * notableShare))

    function find(subject: string): Count | null {
      const count = counts.get(subject)
      return count && count.endsAt > performance.now() ? count : null
    }

    function begin(subject: string): Count {
      forget(subject)
      if (counts.size >= maxSubjects) forget(counts.keys().next().value ?? subject)
      const count = { rule, subject, shared: 0, own: 0, endsAt: performance.now() + rule.window }
      counts.set(subject, count)
      return count
    }

    function forget(subject: string): void {
      const count = counts.get(subject)
      if (!count) return
      counts.delete(subject)
      due.delete(count)
    }

    return {
      wait(subject, more = 0) {
        const count = find(subject)
        const hits = count ? count.shared + count.own : 0
        if (count && hits >= rule.limit) return count.endsAt - performance.now()
        return hits + more >= rule.limit ? expectedWait : null
      },
      add(subject) {
        if (rule.limit === Number.POSITIVE_INFINITY) return
        const count = find(subject) ?? begin(subject)
        count.own += 1
        if (count.own < notable) return
        due.add(count)
        schedule()
      },
    }
  }

  return {
    meter,
    /** Waits for the running write. Discards counts that are not written yet. */
    async close(): Promise<void> {
      clearTimeout(timer)
      due.clear()
      await writing
    },
  }
}
