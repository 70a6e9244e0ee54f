/**
 * Limits floods of requests and of invalid credentials. Past the limit of invalid ones, lookups of unknown credentials
 * are slowed down. A valid credential among them waits instead of being refused, because others behind the same router or
 * proxy may send the wrong ones.
 */
import { networkOf } from '../../auth/network.ts'
import type { ClientConnection, Origin, Viewer } from '../../auth/viewer.ts'
import { Counts } from '../../lib/counts.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { type Meter, type RateLimit, requestRules, tooMany, tooManyBad } from './meters.ts'

export interface RequestLimits {
  /** Counts a request without a credential. @throws RATE_LIMITED */
  countAnonymous(address: string): void
  /** Counts a request with a session token of this server, valid or not. @throws RATE_LIMITED */
  countSession(id: string): void
  /**
   * Call this before looking a key up, and dispose of the result afterwards. Until then the key counts as invalid, so that
   * parallel requests allow no more guesses than sequential ones. If the network has sent too many invalid keys, a key waits for
   * its turn, because the invalid ones may come from others behind the same router or proxy. A key that was valid recently does
   * not wait. @throws RATE_LIMITED
   */
  tryKey(hash: string, origin: Pick<Origin, 'address' | 'connection'>): Promise<Disposable>
  /** Counts a request with a valid key. @throws RATE_LIMITED */
  countKey(hash: string): void
  /**
   * Counts a request of an authenticated viewer for the member. Those with share links count apart, so that the use of the links
   * refuses nothing to the member. @throws RATE_LIMITED
   */
  countMember(viewer: Pick<Viewer, 'kind' | 'member'>): void
  /** Counts a malformed credential. @throws RATE_LIMITED */
  countGuess(address: string): void
  /** Counts an invalid credential. */
  countBad(address: string): void
}

/** The maximum number of remembered valid keys. */
const maxValidKeys = 10_000

const known: Disposable = { [Symbol.dispose]() {} }

/** @param perMinute requests per credential; 0 disables the limits */
export function createRequestLimits(perMinute: number, meter: (rule: RateLimit) => Meter): RequestLimits {
  const rules = requestRules(perMinute)
  const credentials = meter(rules.credential)
  const members = meter(rules.member)
  const anonymous = meter(rules.anonymous)
  const failures = meter(rules.badCredential)
  const validKeys = new LruMap<string, true>(maxValidKeys)
  /** Keys that are being looked up, by network. */
  const trying = new Counts<string>()
  const rounds = new LookupRounds()

  function requireWithinLimit(meter: Meter, subject: string, what: string): void {
    const wait = meter.wait(subject)
    if (wait !== null) throw tooMany(what, wait)
  }

  function requireWithinLimitForCredential(credential: string): void {
    requireWithinLimit(credentials, credential, 'Too many requests with this credential')
  }

  return {
    countAnonymous(address) {
      const network = networkOf(address)
      requireWithinLimit(anonymous, network, 'Too many requests without a credential from this address')
      anonymous.add(network)
    },

    countSession(id) {
      requireWithinLimitForCredential(id)
      credentials.add(id)
    },

    async tryKey(hash, { address, connection = { destroyed: false } }) {
      requireWithinLimitForCredential(hash)
      if (validKeys.get(hash)) return known
      const network = networkOf(address)
      if (failures.wait(network, trying.get(network)) !== null) await rounds.take(hash, network, connection)
      return trying.hold(network)
    },

    countKey(hash) {
      requireWithinLimitForCredential(hash)
      credentials.add(hash)
      if (!validKeys.get(hash)) validKeys.set(hash, true)
    },

    countMember({ kind, member: { userId } }) {
      const owner = kind === 'SHARE' ? `links ${userId}` : userId
      const who = kind === 'SHARE' ? 'the share links of this member' : 'the credentials of this member'
      requireWithinLimit(members, owner, `Too many requests with ${who}`)
      members.add(owner)
    },

    countGuess(address) {
      const network = networkOf(address)
      requireWithinLimit(failures, network, tooManyBad)
      failures.add(network)
    },

    countBad(address) {
      failures.add(networkOf(address))
    },
  }
}

interface WaitingLookup {
  credential: string
  wait: PromiseWithResolvers<void>
}

/** Milliseconds between two rounds. */
export const roundInterval = 100
/** Lookups in one round, of all networks together. */
export const lookupsInRound = 200
const maxWaiting = 10_000
const maxWaitingOfNetwork = 2000
/** Milliseconds until a refused client should try again. */
const retryAfter = 1000

/**
 * Admits a bounded number of lookups in each round. Networks take turns, and so do the connections of each: a connection waits for
 * one credential at a time, so many requests on one connection do not delay those on others.
 */
export class LookupRounds {
  /** The next network is first, and so is the next connection of each. */
  readonly #networks = new Map<string, Map<ClientConnection, WaitingLookup>>()
  /** A round is due while this is not 0. */
  #waiting = 0

  /** Resolves when the lookup may start. @throws RATE_LIMITED if too many wait */
  async take(credential: string, network: string, connection: ClientConnection): Promise<void> {
    const connections = this.#networks.get(network) ?? new Map<ClientConnection, WaitingLookup>()
    const earlier = connections.get(connection)
    if (earlier?.credential === credential) return earlier.wait.promise
    if (earlier || connections.size >= maxWaitingOfNetwork || this.#waiting >= maxWaiting) throw tooManyWaiting()
    const wait = Promise.withResolvers<void>()
    this.#networks.set(network, connections.set(connection, { credential, wait }))
    if (this.#waiting === 0) setTimeout(() => this.#round(), roundInterval)
    this.#waiting += 1
    return wait.promise
  }

  #round(): void {
    for (let admitted = 0; admitted < lookupsInRound; ) {
      const [next] = this.#networks
      if (!next) return
      const [network, connections] = next
      // The network goes to the end of the line.
      this.#networks.delete(network)
      for (const [connection, { wait }] of connections) {
        connections.delete(connection)
        this.#waiting -= 1
        if (connection.destroyed) wait.reject(tooManyWaiting())
        else {
          wait.resolve()
          admitted += 1
          break
        }
      }
      if (connections.size > 0) this.#networks.set(network, connections)
    }
    if (this.#waiting > 0) setTimeout(() => this.#round(), roundInterval)
  }
}

function tooManyWaiting() {
  return tooMany(tooManyBad, retryAfter)
}
