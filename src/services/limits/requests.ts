/** Floods of requests, and of credentials that are not good. */
import { networkOf } from '../../auth/network.ts'
import type { Meter } from './meters.ts'
import { type RateLimit, requestRules, tooMany } from './rules.ts'

export interface RequestLimits {
  /** Counts a request without a credential. @throws RATE_LIMITED */
  countAnonymous(address: string): void
  /** Counts a request with a session token of this server, good or not. @throws RATE_LIMITED */
  countSession(id: string): void
  /**
   * To be called before a key is looked up, and disposed of once it is known. Until then it counts as not good, so that many
   * at once are no more guesses than many in a row. One that was good lately is looked up also where too many credentials
   * from its address were not: those may be of somebody else behind the same router or proxy. @throws RATE_LIMITED
   */
  tryKey(hash: string, address: string): Disposable
  /** Counts a request with a key that was found good. @throws RATE_LIMITED */
  countKey(hash: string): void
  /** Counts what is no credential at all. @throws RATE_LIMITED */
  countGuess(address: string): void
  /** Counts a credential that was not good. */
  countBad(address: string): void
}

/** Keys of which it is remembered that they were good. */
const maxGood = 10_000

const known: Disposable = { [Symbol.dispose]() {} }

/** @param perMinute requests of one credential; 0: no limits */
export function createRequestLimits(perMinute: number, meter: (rule: RateLimit) => Meter): RequestLimits {
  const rules = requestRules(perMinute)
  const credentials = meter(rules.credential)
  const anonymous = meter(rules.anonymous)
  const failures = meter(rules.badCredential)
  const good = new Set<string>()
  /** Keys that are being looked up, by network. */
  const trying = new Map<string, number>()

  function requireRoom(meter: Meter, subject: string, what: string, more = 0): void {
    const wait = meter.wait(subject, more)
    if (wait !== null) throw tooMany(what, wait)
  }

  function requireRoomForCredential(credential: string): void {
    requireRoom(credentials, credential, 'Too many requests with this credential')
  }

  function requireRoomForGuess(network: string): void {
    const what = 'Too many requests with bad credentials from this address'
    requireRoom(failures, network, what, trying.get(network))
  }

  function begin(network: string): Disposable {
    trying.set(network, (trying.get(network) ?? 0) + 1)
    return {
      [Symbol.dispose]() {
        const others = (trying.get(network) ?? 1) - 1
        if (others === 0) trying.delete(network)
        else trying.set(network, others)
      },
    }
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

    tryKey(hash, address) {
      requireRoomForCredential(hash)
      if (good.has(hash)) return known
      const network = networkOf(address)
      requireRoomForGuess(network)
      return begin(network)
    },

    countKey(hash) {
      requireRoomForCredential(hash)
      credentials.add(hash)
      if (good.has(hash)) return
      if (good.size >= maxGood) good.clear()
      good.add(hash)
    },

    countGuess(address) {
      const network = networkOf(address)
      requireRoomForGuess(network)
      failures.add(network)
    },

    countBad(address) {
      failures.add(networkOf(address))
    },
  }
}
