/** Lets the end of an upload go on when its client has left. */

/** Milliseconds to store what a disconnected client has sent. */
const storeTime = 10_000
/**
 * Milliseconds to read back and scan the file of a disconnected client. A client that waits for less time than the scan takes would
 * otherwise begin it anew each time that it tries again. The storage and the scanner have shorter bounds on waiting.
 */
const scanTime = 60 * 60_000

/**
 * Returns a signal that aborts some time after `signal`, until it is disposed of.
 * @param isScanning whether the file is complete and scanned when the shorter time is over
 */
export function outlasting(signal: AbortSignal, isScanning: () => boolean): Disposable & { signal: AbortSignal } {
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const end = () => late.abort(signal.reason)
  const wait = (time: number, run: () => void) => {
    timer = setTimeout(run, time).unref()
  }
  const onAbort = () => wait(storeTime, () => (isScanning() ? wait(scanTime, end) : end()))
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return {
    signal: late.signal,
    [Symbol.dispose]() {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    },
  }
}
