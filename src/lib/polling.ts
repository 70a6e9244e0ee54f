/** Polling: searches for work again and again, because a table does not say when a row becomes due. */
export interface Polling {
  /** Searches now, or once more after the search that is running. */
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
  let isWoken = false
  let searching: Promise<void> | null = null

  async function searchWhileWoken(): Promise<void> {
    while (isWoken && !stop.signal.aborted) {
      isWoken = false
      await search(stop.signal).catch(onError)
    }
    searching = null
  }

  function wake(): void {
    isWoken = true
    searching ??= searchWhileWoken()
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

/**
 * Polls for items that are due, and works on them one after another until none is left, on up to `atOnce` at the same time. The search
 * goes on while some are worked on, so that one which takes long delays no other.
 * @param options.isAnyDue reads only, because every server calls it at each interval
 * @param options.claim returns an item that no other call has, or null
 */
export function startClaiming<Item>(options: {
  interval: number
  atOnce: number
  isAnyDue: () => Promise<boolean>
  claim: () => Promise<Item | null>
  work: (item: Item, signal: AbortSignal) => Promise<void>
  onError: (error: unknown) => void
}): Polling {
  const { interval, atOnce, isAnyDue, claim, work, onError } = options

  async function workUntilDone(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const item = await claim()
      if (item === null) return
      await work(item, signal).catch(onError)
    }
  }

  const running = new Set<Promise<void>>()
  /** An item may have become due while all workers were busy. */
  let mayHaveMissed = false

  async function search(signal: AbortSignal): Promise<void> {
    mayHaveMissed = running.size === atOnce
    if (mayHaveMissed || !(await isAnyDue())) return
    while (running.size < atOnce) {
      const worker = workUntilDone(signal)
        .catch(onError)
        .finally(() => {
          running.delete(worker)
          if (mayHaveMissed) polling.wake()
        })
      running.add(worker)
    }
  }

  const polling = startPolling({ interval, search, onError })
  return {
    wake: polling.wake,
    async stop() {
      await polling.stop()
      await Promise.all(running)
    },
  }
}
