import { fromAdapter } from './errors.ts'

/**
 * Rejects when the signal aborts, whether or not the adapter minds it, and tells failures in the server's own words.
 * What an adapter hands over too late is given to `discard`.
 */
export async function guarded<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
  discard?: (late: T) => unknown,
): Promise<T> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  // An adapter may also throw, or answer what is no promise.
  const working = (async () => work())()
  try {
    return await Promise.race([working, aborted])
  } catch (error) {
    working.then(discard).catch(() => {})
    throw fromAdapter(error, signal)
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
