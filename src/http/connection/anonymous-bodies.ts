import type { FastifyReply, FastifyRequest } from 'fastify'
import { networkOf } from '../../auth/network.ts'
import { AppError } from '../../errors.ts'

const mib = 1024 * 1024

/** Bytes of the large bodies that one network is sending without an account. */
const maxPerNetwork = 16 * mib
/** Bytes of those from all networks together. */
const maxTotal = 64 * mib
const retryAfterMs = 5000

/** Counts the large bodies that are arriving from clients without an account. */
export class AnonymousBodies {
  readonly #byNetwork = new Map<string, number>()
  #total = 0

  /**
   * Counts a body until it has ended, the response is sent, or the connection is closed. Returns the error for a body that must not
   * be read.
   * @param bytes the declared size of the body, or the largest that it can have
   */
  admit({ ip, raw }: FastifyRequest, reply: FastifyReply, bytes: number): AppError | null {
    // The rest of this body never arrives, and both `close` events may have been emitted already.
    if (raw.destroyed || reply.raw.destroyed) return null
    const network = networkOf(ip)
    if ((this.#byNetwork.get(network) ?? 0) + bytes > maxPerNetwork) {
      const message = `Clients without an account can send at most ${maxPerNetwork / mib} MiB at a time from one address: try again in a few seconds.`
      return new AppError('RATE_LIMITED', message, { retryAfterMs })
    }
    if (this.#total + bytes > maxTotal) {
      const message = 'The server is receiving too many large bodies: try again in a few seconds.'
      return new AppError('UNAVAILABLE', message, { retryAfterMs })
    }
    this.#add(network, bytes)
    let isCounted = true
    const release = () => {
      if (isCounted) this.#add(network, -bytes)
      isCounted = false
    }
    raw.once('close', release)
    // A request that gets its response before its body has ended never emits `close`.
    reply.raw.once('close', release)
    return null
  }

  #add(network: string, bytes: number): void {
    this.#total += bytes
    const remaining = (this.#byNetwork.get(network) ?? 0) + bytes
    if (remaining > 0) this.#byNetwork.set(network, remaining)
    else this.#byNetwork.delete(network)
  }
}
