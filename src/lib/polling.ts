export interface Polling {
  /** Searches now, unless a search is running. */
  wake(): void
  /** Aborts the signal of the search, and waits for its end. */
  stop(): Promise<void>
}

/**
 * Searches for work now and then every `interval` milliseconds, one search at a time.
 * @param options.search ends soon after its signal aborts
 */
export function startPolling(options: {
  interval: number
  search: (signal: AbortSignal) => Promise<void>
  onError: (error: unknown) => void
}): Polling {
  const { interval, search, onError } = options
  const stop = new AbortController()
  let searching: Promise<void> | null = null

  function wake(): void {
    if (stop.signal.aborted) return
    searching ??= search(stop.signal)
      .catch(onError)
      .finally(() => {
        searching = null
      })
  }

  const timer = setInterval(wake, interval).unref()
  wake()
  return {
    wake,
    async stop() {
      clearInterval(timer)
      stop.abort()
      await searching
    },
  }
}
