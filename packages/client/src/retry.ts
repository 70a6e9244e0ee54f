import { StowageError } from './error.ts'

/** Milliseconds before the first retry. Each further delay is twice as long, with a random part. */
const firstDelay = 250
const maxDelay = 30_000

/** Resolves after the time. @throws the reason of the signal */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Returns the milliseconds before the retry after `failures` failures in a row. */
export function delayOf(error: StowageError, failures: number): number {
  const backoff = Math.min(maxDelay, firstDelay * 2 ** (failures - 1))
  return Math.max(error.retryAfterMs ?? 0, backoff * (0.5 + Math.random() / 2))
}

/**
 * Runs the work again after an error that `mayRetry` accepts, up to `retries` times.
 * @throws the last error
 */
export async function withRetries<T>(
  work: () => Promise<T>,
  options: { retries: number; signal?: AbortSignal | undefined; mayRetry?: (error: StowageError) => boolean },
): Promise<T> {
  const { retries, signal, mayRetry = error => error.retryable } = options
  for (let failures = 1; ; failures += 1) {
    try {
      return await work()
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof StowageError) || failures > retries || !mayRetry(error)) throw error
      await sleep(delayOf(error, failures), signal)
    }
  }
}
