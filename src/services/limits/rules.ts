/** Defines the rate limits. */
import { hash } from 'node:crypto'
import { AppError } from '../../errors.ts'

export interface RateLimit {
  /** The limit's name in the database. */
  name: string
  /** Hits in a window; one more is refused. */
  limit: number
  /** Milliseconds. */
  window: number
}

const minute = 60_000

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
    known: { name: 'login-known', limit: 1, window: 30 * 24 * 60 * minute },
    /** Setup codes from one network. */
    setup: { name: 'setup-network', limit: Math.ceil(perNetwork / 10), window: 10 * minute },
    newAccounts: { name: 'register-network', limit: perNetwork, window: 10 * minute },
    /** One email from anywhere. */
    newAccount: { name: 'register-account', limit: Math.ceil(perNetwork / 5), window: 5 * minute },
  } satisfies Record<string, RateLimit>
}

/** Hashes a subject, so that the table contains no addresses or emails and keys have a fixed length. */
export function keyOf(rule: RateLimit, subject: string): Buffer {
  return hash('sha256', JSON.stringify([rule.name, subject]), 'buffer')
}

/** What there were too many of from one network. */
export const tooManyBad = 'Too many requests with bad credentials from this address'

export function tooMany(what: string, retryAfterMs: number): AppError {
  const wait = Math.max(1, Math.ceil(retryAfterMs))
  return new AppError('RATE_LIMITED', `${what}: try again in ${Math.ceil(wait / 1000)} seconds.`, {
    retryAfterMs: wait,
  })
}
