/**
 * The rate limits, and how requests are counted loosely: in memory, without delaying any request. A replica writes a
 * count to the database only once it has reached a hundredth of the limit, at most twice a second, with one statement for
 * all subjects. Clients with few requests therefore cause no writes. While the database does not respond, each replica
 * enforces the limits alone.
 */
import { hash } from 'node:crypto'
import type { Database } from '../../db/client.ts'
import { addHits } from '../../db/rate-limits.ts'
import { AppError } from '../../errors.ts'
import { LruMap } from '../../lib/lru-map.ts'

export interface RateLimit {
  /** The limit's name in the database. */
  name: string
  /** Hits in a window; one more is refused. */
  limit: number
  /** Milliseconds. */
  window: number
}

const minute = 60_000
/** Emails with links for a new password to one address in an hour. As many links of a member work at a time. */
const maxResets = 3

/** @param perMinute requests per credential; 0 disables the limits */
export function requestRules(perMinute: number) {
  const limit = perMinute || Number.POSITIVE_INFINITY
  return {
    credential: { name: 'credential', limit, window: minute },
    /** All sessions and API keys of one member together, and all share links of one member together. */
    member: { name: 'member', limit: limit * 4, window: minute },
    /** Requests without a credential, from one network. */
    anonymous: { name: 'anonymous', limit: Math.ceil(limit / 10), window: minute },
    /** Invalid credentials from one network. High enough for a forgotten script that tries once a second. */
    badCredential: { name: 'bad-credential', limit: perMinute === 0 ? limit : 300, window: minute },
  } satisfies Record<string, RateLimit>
}

/**
 * Others cannot lock a user out. Their failures count towards `account`, but that limit does not apply in a network from
 * which the account has signed in recently (`known`). In other networks the user waits a few minutes.
 * @param perNetwork failed logins from one network in ten minutes
 */
export function signInRules(perNetwork: number) {
  return {
    /** One account from one network. */
    pair: { name: 'login-pair', limit: Math.ceil(perNetwork / 10), window: 10 * minute },
    network: { name: 'login-network', limit: perNetwork, window: 10 * minute },
    /** One account from anywhere. */
    account: { name: 'login-account', limit: Math.ceil(perNetwork / 5), window: 5 * minute },
    /** Codes for one account from one network: one guess is right with a chance of 3 in a million. */
    codePair: { name: 'code-pair', limit: Math.ceil(perNetwork / 10), window: 60 * minute },
    /** Codes for one account from anywhere. */
    codes: { name: 'code-account', limit: Math.ceil(perNetwork / 10), window: 60 * minute },
    known: { name: 'login-known', limit: 1, window: 30 * 24 * 60 * minute },
    /** Setup codes from one network. */
    setup: { name: 'setup-network', limit: Math.ceil(perNetwork / 10), window: 10 * minute },
    /** Logouts in the frames of issuers, from one network. */
    logouts: { name: 'logout-network', limit: 3 * perNetwork, window: 10 * minute },
    /** Links for a new password that one network asks for by email. */
    resets: { name: 'reset-network', limit: Math.ceil(perNetwork / 10), window: 10 * minute },
    /** Those that anybody asks for one address. */
    resetsOfAccount: { name: 'reset-account', limit: maxResets, window: 60 * minute },
    newAccounts: { name: 'register-network', limit: perNetwork, window: 10 * minute },
    /** One email from anywhere. */
    newAccount: { name: 'register-account', limit: Math.ceil(perNetwork / 5), window: 5 * minute },
  } satisfies Record<string, RateLimit>
}

/** Hashes a subject, so that the table contains no addresses or emails and keys have a fixed length. */
export function keyOf(rule: RateLimit, subject: string): Buffer {
  return hash('sha256', JSON.stringify([rule.name, subject]), 'buffer')
}

/** The kind of requests that exceeded the limit of one network, as the error names it. */
export const tooManyBad = 'Too many requests with bad credentials from this address'

export function tooMany(what: string, retryAfterMs: number): AppError {
  const wait = Math.max(1, Math.ceil(retryAfterMs))
  return new AppError('RATE_LIMITED', `${what}: try again in ${Math.ceil(wait / 1000)} seconds.`, {
    retryAfterMs: wait,
  })
}

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

/** The maximum number of subjects per rule. */
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
  const unwritten = new Set<Count>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | undefined
  let lastWrite = Number.NEGATIVE_INFINITY

  function schedule(): void {
    if (timer || writing || unwritten.size === 0) return
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
    const taken = [...unwritten].slice(0, maxRows)
    for (const count of taken) unwritten.delete(count)
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
    const counts = new LruMap<string, Count>(maxSubjects, { onForget: (_subject, count) => unwritten.delete(count) })
    const notable = Math.max(1, Math.floor(rule.limit * notableShare))

    function find(subject: string): Count | null {
      const count = counts.get(subject)
      return count && count.endsAt > performance.now() ? count : null
    }

    function begin(subject: string): Count {
      const ended = counts.get(subject)
      if (ended) unwritten.delete(ended)
      const count = { rule, subject, shared: 0, own: 0, endsAt: performance.now() + rule.window }
      counts.set(subject, count)
      return count
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
        unwritten.add(count)
        schedule()
      },
    }
  }

  return {
    meter,
    /** Waits for the running write. Discards counts that are not written yet. */
    async close(): Promise<void> {
      clearTimeout(timer)
      unwritten.clear()
      await writing
    },
  }
}
