import { orAborted } from '../../adapters/contract.ts'
import { fromAdapter } from './errors.ts'

/**
 * Runs an adapter's method. Rejects with the signal's reason when the signal aborts, even if the adapter ignores it, and
 * with an AppError when the adapter fails.
 *
 * @param work may also throw or return a plain value, as adapters in JavaScript do
 * @param discard receives a result that arrives after the abort
 */
export async function callAdapter<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
  discard?: (late: T) => unknown,
): Promise<T> {
  signal.throwIfAborted()
  const working = (async () => work())()
  try {
    return await orAborted(working, signal)
  } catch (error) {
    working.then(discard).catch(() => {})
    throw fromAdapter(error, signal)
  }
}

/** Milliseconds for an adapter to undo its work after an abort. */
const abortTimeout = 5000

/**
 * Runs an adapter's method that changes something. After an abort it waits up to five seconds for the adapter itself, so
 * that no cleanup overlaps with the change. A change that completes in this time counts as done.
 */
export async function callAdapterForChange<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const delayed = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const onAbort = () => {
    timer = setTimeout(() => delayed.abort(signal.reason), abortTimeout)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await callAdapter(delayed.signal, work)
  } catch (error) {
    throw fromAdapter(error, signal)
  } finally {
    signal.removeEventListener('abort', onAbort)
    clearTimeout(timer)
  }
}
