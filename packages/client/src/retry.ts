import { StowageError } from './error.ts'

/** Milliseconds before the first retry. Each further delay is twice as long, with a random part. */
const firstDelay = 250
/** Milliseconds. An error that asks for a longer wait is thrown instead, because the caller may not want to wait. */
const maxDelay = 30_000

/** Decides whether to try again after an error. `failures` is the number of failures in a row. */
export type ShouldRetry = (error: StowageError, failures: number) => boolean

export interface RetryOptions {
  shouldRetry: ShouldRetry
  signal?: AbortSignal | undefined
}

/** Resolves after the time, or when the browser is online again. @throws the reason of the signal */
async function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  const ended = new AbortController()
  const listening = { once: true, signal: ended.signal }
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, milliseconds)
      ended.signal.addEventListener('abort', () => clearTimeout(timer))
      // Node.js has no such event.
      globalThis.addEventListener?.('online', () => resolve(), listening)
      signal?.addEventListener('abort', () => reject(signal.reason), listening)
    })
  } finally {
    ended.abort()
  }
}

/**
 * Waits before the retry after `failures` failures in a row.
 * @throws the error if no retry follows, and the reason of the signal
 */
export async function waitToRetry(
  error: unknown,
  failures: number,
  { shouldRetry, signal }: RetryOptions,
): Promise<void> {
  signal?.throwIfAborted()
  const isTemporary = error instanceof StowageError && (error.retryAfterMs ?? 0) <= maxDelay
  if (!isTemporary || !shouldRetry(error, failures)) throw error
  const backoff = Math.min(maxDelay, firstDelay * 2 ** (failures - 1))
  await sleep(Math.max(error.retryAfterMs ?? 0, backoff * (0.5 + Math.random() / 2)), signal)
}

/**
 * Runs the work again after temporary failures.
 * @throws the last error
 */
export async function withRetries<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work()
    } catch (error) {
      await waitToRetry(error, failures, options)
    }
  }
}
