import { orAborted } from '../../contract.ts'
import { pause } from './backoff.ts'
import type { Failure } from './failure.ts'
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
