/**
 * Counts guesses strictly: each is counted in the database before it is tried. So several replicas allow no more attempts
 * than one, and none are allowed while the database does not respond.
 */
import type { Database } from '../../db/client.ts'
import { addHits, type Total } from '../../db/rate-limits.ts'
import { AppError } from '../../errors.ts'
import { withTimeout } from '../../lib/timeout.ts'
import { keyOf, type RateLimit } from './rules.ts'

export interface Attempts {
  /**
   * Counts an attempt. Resolves with the milliseconds to wait if it exceeds the limit, otherwise with null.
   * @throws UNAVAILABLE
   */
  take(rule: RateLimit, subject: string): Promise<number | null>
}

interface Waiting {
  key: Buffer
  rule: RateLimit
  resolve(wait: number | null): void
  reject(error: AppError): void
}

/** Milliseconds to wait for the database. */
const timeout = 3000
/** The maximum number of attempts that wait to be counted. */
const maxWaiting = 2000
/** The maximum number of late statements. Each occupies a connection that others need. */
const maxUnanswered = 2

/** Attempts that arrive while a statement runs are counted together by the next one. */
export function createAttempts(db: Database): Attempts {
  let waiting: Waiting[] = []
  let isWriting = false
  let unanswered = 0

  async function count(batch: readonly Waiting[]): Promise<Total[]> {
    if (unanswered >= maxUnanswered) throw new Error('The database has not yet responded to earlier counts.')
    unanswered += 1
    const counted = addHits(db, summed(batch)).finally(() => {
      unanswered -= 1
    })
    return withDatabaseTimeout(counted)
  }

  async function write(): Promise<void> {
    if (isWriting) return
    isWriting = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        settle(batch, await count(batch))
      } catch (cause) {
        for (const { reject } of batch) reject(unavailable(cause))
      }
    }
    isWriting = false
  }

  return {
    take(rule, subject) {
      if (waiting.length >= maxWaiting) return Promise.reject(unavailable())
      const { promise, resolve, reject } = Promise.withResolvers<number | null>()
      waiting.push({ key: keyOf(rule, subject), rule, resolve, reject })
      void write()
      return promise
    },
  }
}

/** @throws Error if the database takes longer than a request should wait */
export function withDatabaseTimeout<T>(work: Promise<T>): Promise<T> {
  return withTimeout(work, timeout, () => new Error('The database does not respond in time.'))
}

function unavailable(cause?: unknown): AppError {
  const message = 'Nobody can sign in right now: try again in a few seconds.'
  return new AppError('UNAVAILABLE', message, { cause, retryAfterMs: 5000 })
}

/** Groups attempts by key, in the order of first occurrence. */
function byKey(batch: readonly Waiting[]): Waiting[][] {
  return [...Map.groupBy(batch, ({ key }) => key.toString('hex')).values()]
}

function summed(batch: readonly Waiting[]) {
  return byKey(batch).flatMap(([first, ...more]) =>
    first ? [{ key: first.key, hits: 1 + more.length, window: first.rule.window }] : [],
  )
}

/** Resolves attempts. Among several with one key, earlier ones count first. */
function settle(batch: readonly Waiting[], totals: readonly Total[]): void {
  for (const [index, group] of byKey(batch).entries()) {
    const { hits, remaining } = totals[index] ?? { hits: Number.POSITIVE_INFINITY, remaining: 0 }
    for (const [rank, { rule, resolve }] of group.entries()) {
      resolve(hits - group.length + rank < rule.limit ? null : remaining)
    }
  }
}
