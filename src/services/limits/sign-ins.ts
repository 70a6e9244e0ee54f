/**
 * Limits guesses of passwords, also of share links, and mass registration. Guesses are counted strictly: each is counted
 * in the database before it is tried. So several replicas allow no more attempts than one, and none are allowed while the
 * database does not respond.
 */
import { networkOf } from '../../auth/network.ts'
import type { Database } from '../../db/client.ts'
import { addHits, forgetHits, hasHits, removeHits, type Total } from '../../db/rate-limits.ts'
import { emailKey } from '../../db/users.ts'
import { AppError, type Reason } from '../../errors.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { withTimeout } from '../../lib/timeout.ts'
import { keyOf, type RateLimit, signInRules, tooMany } from './meters.ts'

export interface SignIns {
  /**
   * Tries a password or a code. `work` throws WRONG_EMAIL_OR_PASSWORD, WRONG_SHARE_PASSWORD or WRONG_CODE if it is wrong. Only failures
   * stay counted.
   * @throws RATE_LIMITED, UNAVAILABLE, and what `work` throws
   */
  tryPassword<T>(who: Who, work: () => Promise<T>): Promise<T>
  /** Counts a registration, successful or not. @throws RATE_LIMITED, UNAVAILABLE */
  countRegistration(who: Who): Promise<void>
  /** Counts a setup code, right or wrong. @throws RATE_LIMITED, UNAVAILABLE */
  countSetupCode(address: string): Promise<void>
  /** Counts a logout that names a session at an issuer, known or not. @throws RATE_LIMITED, UNAVAILABLE */
  countLogout(address: string): Promise<void>
  /**
   * Counts a request of a link for a new password, for an address that has an account or not. Returns false if the address had its emails,
   * whose links still work.
   * @throws RATE_LIMITED, UNAVAILABLE
   */
  countReset(who: Who): Promise<boolean>
  /** Marks the network as known to the account, which has signed in there. */
  noteSignedIn(who: Who): Promise<void>
}

export interface Who {
  /**
   * The email of an account, the ID of a share, the ID of a member whose codes are tried, or a person of a directory. The attempt that
   * has found that person already counts for the network.
   */
  account: string | { share: string } | { codesOf: string } | { person: string }
  /** IP. */
  address: string
}

const wrong: ReadonlySet<Reason> = new Set(['WRONG_EMAIL_OR_PASSWORD', 'WRONG_SHARE_PASSWORD', 'WRONG_CODE'])
/** Milliseconds for which a network over its limit is rejected without querying the database. */
const refusedTime = 5000
/** The maximum number of remembered networks. */
const maxRefused = 10_000

/** @param limit failed logins from one network in ten minutes; 0 disables all limits here */
export function createSignIns({
  db,
  limit,
  onError,
}: {
  db: Database
  limit: number
  onError: (error: unknown) => void
}): SignIns {
  const rules = signInRules(limit)
  const attempts = createAttempts(db)
  /** The networks that are over their limit, with times of `performance.now()`. */
  const refused = new LruMap<string, { until: number; endsAt: number }>(maxRefused)

  async function require(rule: RateLimit, subject: string, what: string): Promise<void> {
    const wait = await attempts.take(rule, subject)
    if (wait !== null) throw tooMany(what, wait)
  }

  function tooManyOf(network: string, endsAt: number): AppError {
    const now = performance.now()
    if (!refused.get(network)) refused.set(network, { until: now + refusedTime, endsAt })
    return tooMany('Too many wrong passwords from this address', endsAt - now)
  }

  /** Rejects a network over its limit before it adds a count per account to the database. */
  function requireNotRefused(network: string): void {
    const known = refused.get(network)
    if (known && known.until > performance.now()) throw tooManyOf(network, known.endsAt)
    refused.delete(network)
  }

  /** Checks one limit after another, so that an attempt rejected by one does not count in the next. */
  async function requireWithinLimits({ account, network, pair, what, isCode, isPerson }: Subjects): Promise<void> {
    requireNotRefused(network)
    await require(isCode ? rules.codePair : rules.pair, pair, `${what} from this address`)
    const networkWait = isPerson ? null : await attempts.take(rules.network, network)
    if (networkWait !== null) throw tooManyOf(network, performance.now() + networkWait)
    const wait = await attempts.take(isCode ? rules.codes : rules.account, account)
    if (wait === null || (await withDatabaseTimeout(hasHits(db, keyOf(rules.known, pair))))) return
    throw tooMany(what, wait)
  }

  async function uncount({ account, network, pair, isCode, isPerson }: Subjects): Promise<void> {
    await removeHits(db, keyOf(isCode ? rules.codePair : rules.pair, pair), 1)
    if (!isPerson) await removeHits(db, keyOf(rules.network, network), 1)
    await removeHits(db, keyOf(isCode ? rules.codes : rules.account, account), 1)
  }

  async function forgive(subjects: Subjects): Promise<void> {
    await uncount(subjects)
    await forgetHits(db, keyOf(subjects.isCode ? rules.codePair : rules.pair, subjects.pair))
    await remember(subjects)
  }

  async function remember({ pair }: Pick<Subjects, 'pair'>): Promise<void> {
    await addHits(db, [{ key: keyOf(rules.known, pair), hits: 1, window: rules.known.window }])
  }

  return {
    async tryPassword(who, work) {
      if (limit === 0) return work()
      const subjects = subjectsOf(who)
      await requireWithinLimits(subjects)
      try {
        const result = await work()
        await withDatabaseTimeout(forgive(subjects)).catch(onError)
        return result
      } catch (error) {
        const isWrong = error instanceof AppError && wrong.has(error.reason)
        if (!isWrong) await withDatabaseTimeout(uncount(subjects)).catch(onError)
        throw error
      }
    },

    async countRegistration(who) {
      if (limit === 0) return
      const { account, network } = subjectsOf(who)
      await require(rules.newAccounts, network, 'Too many new accounts from this address')
      await require(rules.newAccount, account, 'Too many attempts to register this email')
    },

    async countSetupCode(address) {
      if (limit > 0) await require(rules.setup, networkOf(address), 'Too many setup codes from this address')
    },

    async countLogout(address) {
      if (limit > 0) await require(rules.logouts, networkOf(address), 'Too many logouts from this address')
    },

    async countReset(who) {
      const { account, network } = subjectsOf(who)
      if (limit > 0) await require(rules.resets, network, 'Too many links for a new password from this address')
      // Without a limit of sign-ins, too, nobody gets more emails than they can read.
      return (await attempts.take(rules.resetsOfAccount, account)) === null
    },

    async noteSignedIn(who) {
      if (limit > 0) await withDatabaseTimeout(remember(subjectsOf(who))).catch(onError)
    },
  }
}

interface Subjects {
  account: string
  network: string
  pair: string
  /** The kind of attempts that exceeded the limit, as the error names it. */
  what: string
  /** Codes are short, so that their limits apply for longer. */
  isCode: boolean
  /** Whether only the person is counted, and not the network. */
  isPerson: boolean
}

function subjectsOf({ address, account: named }: Who): Subjects {
  const network = networkOf(address)
  const { account, what } = subjectOf(named)
  const isCode = typeof named !== 'string' && 'codesOf' in named
  const isPerson = typeof named !== 'string' && 'person' in named
  return { account, network, pair: JSON.stringify([account, network]), what, isCode, isPerson }
}

/** An email contains no colon before its "@". */
function subjectOf(named: Who['account']): { account: string; what: string } {
  if (typeof named === 'string')
    return { account: emailKey(named.trim()), what: 'Too many failed logins to this account' }
  if ('person' in named) return { account: `person:${named.person}`, what: 'Too many failed logins to this account' }
  if ('share' in named) return { account: `share:${named.share}`, what: 'Too many wrong passwords for this share link' }
  return { account: `codes:${named.codesOf}`, what: 'Too many wrong codes for this account' }
}

interface Attempts {
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
function createAttempts(db: Database): Attempts {
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
function withDatabaseTimeout<T>(work: Promise<T>): Promise<T> {
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
