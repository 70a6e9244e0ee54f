import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'

/**
 * The maximum number of calls of one member that are open at the same time. A response has at most about three megabytes,
 * so those of one member take less than 100 MB, and all together less than 400 MB.
 */
const maxPerMember = 32
const maxInAll = 128
/** Milliseconds. */
const retryAfterMs = 1000

/** Counts the calls of this process that are being served or whose responses have not been read. */
export class OpenCalls {
  readonly #byMember = new Map<string, number>()
  #total = 0

  /** Counts a call until its client has read the response or has disconnected. @throws RATE_LIMITED, UNAVAILABLE */
  count(userId: string, { raw: { socket } }: FastifyRequest, { raw: response }: FastifyReply): void {
    const open = this.#byMember.get(userId) ?? 0
    if (open >= maxPerMember) {
      throw new AppError(
        'RATE_LIMITED',
        `You have ${open} calls that have not ended, which is the limit: wait for one.`,
        {
          retryAfterMs,
        },
      )
    }
    if (this.#total >= maxInAll) {
      throw new AppError('UNAVAILABLE', 'The server has as many open calls as it can: try again.', { retryAfterMs })
    }
    this.#add(userId, 1)
    const end = () => {
      for (const each of [response, socket]) each.off('close', end)
      this.#add(userId, -1)
    }
    // A response that waits behind others in a pipeline never emits `close` when the client disconnects.
    for (const each of [response, socket]) each.once('close', end)
  }

  #add(userId: string, change: 1 | -1): void {
    this.#total += change
    const open = (this.#byMember.get(userId) ?? 0) + change
    if (open === 0) this.#byMember.delete(userId)
    else this.#byMember.set(userId, open)
  }
}
