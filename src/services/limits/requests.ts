/** Floods of requests, and of credentials that are not good. */
import { networkOf } from '../../auth/network.ts'
import type { Meter } from './meters.ts'
import { type Rule, requestRules, tooMany } from './rules.ts'

export interface RequestLimits {
  /** Counts a request without a credential. @throws RATE_LIMITED */
  countAnonymous(address: string): void
  /** Counts a request with a session token of this server, good or not. @throws RATE_LIMITED */
  countSession(id: string): void
  /**
   * To be called before a key is looked up. One that was good lately is looked up also where too many credentials from its
   * address were not: those may be of somebody else behind the same router or proxy. @throws RATE_LIMITED
   */
  requireRoomForKey(hash: string, address: string): void
  /** Counts a request with a key that was found good. @throws RATE_LIMITED */
  countKey(hash: string): void
  /** To be called for what is no credential at all. @throws RATE_LIMITED */
  requireRoomForGuess(address: string): void
  /** Counts a credential that was not good. */
  countBad(address: string): void
}

/** Keys of which it is remembered that they were good. */
const maxGood = 10_000

/** @param perMinute requests of one credential; 0: no limits */
export function createRequestLimits(perMinute: number, meter: (rule: Rule) => Meter): RequestLimits {
  const rules = requestRules(perMinute)
  const credentials = meter(rules.credential)
  const anonymous = meter(rules.anonymous)
  const failures = meter(rules.badCredential)
  const good = new Set<string>()

  function requireRoom(meter: Meter, subject: string, what: string): void {
    const wait = meter.wait(subject)
    if (wait !== null) throw tooMany(what, wait)
  }

  function requireRoomForCredential(credential: string): void {
    requireRoom(credentials, credential, 'Too many requests with this credential')
  }

  function requireRoomForGuess(address: string): void {
    requireRoom(failures, networkOf(address), 'Too many requests with bad credentials from this address')
  }

  return {
    countAnonymous(address) {
      const network = networkOf(address)
      requireRoom(anonymous, network, 'Too many requests without a credential from this address')
      anonymous.add(network)
    },

    countSession(id) {
      requireRoomForCredential(id)
      credentials.add(id)
    },

    requireRoomForKey(hash, address) {
      requireRoomForCredential(hash)
      if (!good.has(hash)) requireRoomForGuess(address)
    },

    countKey(hash) {
      requireRoomForCredential(hash)
      credentials.add(hash)
      if (good.has(hash)) return
      if (good.size >= maxGood) good.clear()
      good.add(hash)
    },

    requireRoomForGuess,

    countBad(address) {
      failures.add(networkOf(address))
    },
  }
}
