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

/** Milliseconds that an adapter has to take back what it was doing. */
const retreat = 5000

/**
 * The same for what changes something: after an abort the adapter's own answer is waited for, for some seconds, so that
 * nobody tidies up before it has, and what was done after all counts as done.
 */
export async function guardedChange<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const patience = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const onAbort = () => {
    timer = setTimeout(() => patience.abort(signal.reason), retreat)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await guarded(patience.signal, work)
  } catch (error) {
    throw fromAdapter(error, signal)
  } finally {
    signal.removeEventListener('abort', onAbort)
    clearTimeout(timer)
  }
}
