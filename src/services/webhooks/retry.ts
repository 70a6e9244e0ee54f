const minute = 60
const hour = 60 * minute

/** Seconds before each retry: about three days in all. */
const delays = [5, 30, 2 * minute, 10 * minute, 30 * minute, hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour, 24 * hour]
/** The part of a delay that is random, so that messages that failed together are not retried together. */
const jitter = 0.1

/**
 * Returns the seconds until the next attempt, or null if the last one has failed.
 * @param failures the number of attempts that have failed
 * @param retryAfter the least number of seconds, or null
 */
export function retryDelay(failures: number, retryAfter: number | null, random = Math.random): number | null {
  const delay = delays[failures - 1]
  if (delay === undefined) return null
  return Math.max(delay * (1 - jitter / 2 + jitter * random()), retryAfter ?? 0)
}
