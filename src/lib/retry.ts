/** Retries: how long to wait before work that failed is tried again, and how often. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface RetrySchedule {
  /** The time before each retry. */
  delays: readonly number[]
  /** Whether the last delay repeats without end. Otherwise, there is one retry for each delay. */
  isEndless?: boolean
  /** The part of a delay that is random, so that what failed together is not retried together. Default: 0 */
  jitter?: number
}

/**
 * Returns the time until the next attempt, in the unit of the schedule; null if there is none.
 * @param failures the number of attempts that have failed
 * @param least the least time to wait, unless there is no other attempt
 */
export function retryDelay(
  { delays, isEndless = false, jitter = 0 }: RetrySchedule,
  failures: number,
  least = 0,
  random = Math.random,
): number | null {
  const delay = delays[isEndless ? Math.min(failures, delays.length) - 1 : failures - 1]
  return delay === undefined ? null : Math.max(delay * (1 - jitter / 2 + jitter * random()), least)
}

/**
 * Attempts work again after each failure that may pass.
 * @param schedule in milliseconds
 * @param options.leastDelay returns the least milliseconds until the next attempt after an error; null if the error is final
 * @throws the reason of the signal, or the last error
 */
export async function withRetries<T>(
  schedule: RetrySchedule,
  options: { signal?: AbortSignal; leastDelay: (error: unknown) => number | null },
  work: (isRetry: boolean) => Promise<T>,
): Promise<T> {
  const { signal, leastDelay } = options
  for (let failures = 0; ; ) {
    try {
      return await work(failures > 0)
    } catch (error) {
      // An abort can first show as another error.
      signal?.throwIfAborted()
      failures += 1
      const least = leastDelay(error)
      const delay = least === null ? null : retryDelay(schedule, failures, least)
      if (delay === null) throw error
      // Without a signal, nothing else would end the wait.
      await sleep(delay, undefined, { signal, ref: signal !== undefined }).catch(() => {
        throw signal?.reason
      })
    }
  }
}

const minute = 60
const hour = 60 * minute

/** In seconds, for messages to other servers: about three days in all. */
export const deliverySchedule: RetrySchedule = {
  delays: [5, 30, 2 * minute, 10 * minute, 30 * minute, hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour, 24 * hour],
  jitter: 0.1,
}

/** The maximum of `Retry-After`, in seconds. */
const maxRetryAfter = 24 * 60 * 60

/** Returns the seconds until a server wants the next request, from `Retry-After` (RFC 9110, section 10.2.3); null if it does not say. */
export function retryAfterOf({ headers }: Pick<Response, 'headers'>): number | null {
  const header = headers.get('retry-after')
  if (header === null || header.length > 40) return null
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 0), maxRetryAfter)
}
