/** Requests to a vendor that are sent again: after a refused token, for a rate limit, and after temporary failures. */
import { orAborted } from '../../contract.ts'
import { type Backoff, delayBefore, pause } from '../retry.ts'
import { type Failure, isTransient, type Refusals } from './errors.ts'
import type { TokenSource } from './tokens.ts'

interface RepeatOptions {
  /** Undefined for requests without a token. */
  token: TokenSource | undefined
  signal: AbortSignal | undefined
  /** Returns undefined for an error after which no request is sent. */
  failureOf(error: unknown): Failure | undefined
  /** Returns the milliseconds until the next attempt; undefined for no further attempt. The first attempt is 0. */
  waitFor(failure: Failure, attempt: number): number | undefined
}

/** Sends a request until it succeeds or fails for good. A refused token is replaced once. */
export async function repeat<T>(
  { token: source, signal, failureOf, waitFor }: RepeatOptions,
  send: (token: string | undefined) => Promise<T>,
): Promise<T> {
  let rejected: string | undefined
  for (let attempt = 0; ; attempt += 1) {
    signal?.throwIfAborted()
    const pending = source?.(rejected)
    const token = pending && signal ? await orAborted(pending, signal) : await pending
    try {
      return await send(token)
    } catch (error) {
      const failure = failureOf(error)
      if (!failure) throw error
      if (failure.status === 401 && token !== undefined && rejected === undefined) {
        rejected = token
        continue
      }
      const wait = waitFor(failure, attempt)
      if (wait === undefined) throw error
      await pause(wait, signal)
    }
  }
}

export const usualBackoff: Backoff = { first: 500, longest: 20_000, attempts: 6 }

/** Milliseconds. */
export interface Timeouts {
  /** The timeout of a response. For a stream, it ends when the response starts. */
  metadata: number
  /** The same for a request that uploads content. */
  upload: number
  /** The timeout of a download that receives no bytes. */
  stall: number
  /** The timeout of one request for a token. */
  token: number
}

export const usualTimeouts: Timeouts = { metadata: 30_000, upload: 300_000, stall: 60_000, token: 10_000 }

/** Returns the milliseconds until the next attempt, doubled each time, with jitter; undefined for no further attempt. */
export function waitFor(
  failure: Failure,
  attempt: number,
  options: { backoff: Backoff; isRateLimit: Refusals['isRateLimit']; repeatable: boolean },
): number | undefined {
  const { longest, attempts } = options.backoff
  if (attempt + 1 >= attempts) return undefined
  if (!options.isRateLimit(failure) && !(options.repeatable && isTransient(failure))) return undefined
  const own = Math.min(longest, delayBefore(attempt, options.backoff) * (0.75 + Math.random() / 2))
  const wait = Math.max(failure.retryAfterMs ?? 0, own)
  return wait > longest ? undefined : wait
}
