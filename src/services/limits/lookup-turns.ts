/**
 * Slows down the lookups of unknown credentials from networks with too many wrong ones. A valid credential among them waits
 * instead of being refused, because others behind the same router or proxy may send the wrong ones.
 */
import type { ClientConnection } from '../../auth/viewer.ts'
import { tooMany, tooManyBad } from './rules.ts'

interface Turn {
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
export class LookupTurns {
  /** The next network is first, and so is the next connection of each. */
  readonly #networks = new Map<string, Map<ClientConnection, Turn>>()
  /** A round is due while this is not 0. */
  #waiting = 0

  /** Resolves when the lookup may start. @throws RATE_LIMITED if too many wait */
  async take(credential: string, network: string, connection: ClientConnection): Promise<void> {
    const turns = this.#networks.get(network) ?? new Map<ClientConnection, Turn>()
    const earlier = turns.get(connection)
    if (earlier?.credential === credential) return earlier.wait.promise
    if (earlier || turns.size >= maxWaitingOfNetwork || this.#waiting >= maxWaiting) throw tooManyWaiting()
    const wait = Promise.withResolvers<void>()
    this.#networks.set(network, turns.set(connection, { credential, wait }))
    if (this.#waiting === 0) setTimeout(() => this.#round(), roundInterval)
    this.#waiting += 1
    return wait.promise
  }

  #round(): void {
    for (let admitted = 0; admitted < lookupsInRound; ) {
      const [next] = this.#networks
      if (!next) return
      const [network, turns] = next
      // The network goes to the end of the line.
      this.#networks.delete(network)
      for (const [connection, { wait }] of turns) {
        turns.delete(connection)
        this.#waiting -= 1
        if (connection.destroyed) wait.reject(tooManyWaiting())
        else {
          wait.resolve()
          admitted += 1
          break
        }
      }
      if (turns.size > 0) this.#networks.set(network, turns)
    }
    if (this.#waiting > 0) setTimeout(() => this.#round(), roundInterval)
  }
}

function tooManyWaiting() {
  return tooMany(tooManyBad, retryAfter)
}
