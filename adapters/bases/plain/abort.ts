/** Calls `close` when the signal aborts, until the end of a scope: `using _closing = closeOnAbort(...)`. */
export function closeOnAbort(signal: AbortSignal, close: () => void): Disposable {
  signal.addEventListener('abort', close, { once: true })
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', close) }
}
