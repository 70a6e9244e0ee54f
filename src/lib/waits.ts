/** Waits for what any server may do: one search at each interval asks about all of them. */
import { startPolling } from './polling.ts'

export interface Waits<Value> {
  /** Resolves with what the search finds. @throws the reason of the signal; what `stopping` returns, when the server stops */
  wait(id: string, signal: AbortSignal): Promise<Value>
  /** Searches now. Call this when something may have happened on this server. */
  check(): void
  close(): Promise<void>
}

/**
 * @param options.interval milliseconds between two searches
 * @param options.search looks at what is waited for, and calls `resolve` for what has happened
 */
export function createWaits<Value>(options: {
  interval: number
  search: (ids: readonly string[], resolve: (id: string, value: Value) => void) => Promise<void>
  stopping: (id: string) => Error
  onError: (error: unknown) => void
}): Waits<Value> {
  const { interval, search, stopping, onError } = options
  const waits = new Map<string, Set<PromiseWithResolvers<Value>>>()
  let isClosed = false

  const resolve = (id: string, value: Value) => {
    for (const each of waits.get(id) ?? []) each.resolve(value)
  }
  const polling = startPolling({
    interval,
    search: async () => {
      if (waits.size > 0) await search([...waits.keys()], resolve)
    },
    onError,
  })

  function add(id: string, each: PromiseWithResolvers<Value>): void {
    const others = waits.get(id) ?? new Set()
    waits.set(id, others.add(each))
  }

  function remove(id: string, each: PromiseWithResolvers<Value>): void {
    const others = waits.get(id)
    others?.delete(each)
    if (others?.size === 0) waits.delete(id)
  }

  return {
    async wait(id, signal) {
      signal.throwIfAborted()
      if (isClosed) throw stopping(id)
      const each = Promise.withResolvers<Value>()
      const onAbort = () => each.reject(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      add(id, each)
      // It may have happened before.
      polling.wake()
      try {
        return await each.promise
      } finally {
        signal.removeEventListener('abort', onAbort)
        remove(id, each)
      }
    },

    check: polling.wake,

    async close() {
      isClosed = true
      for (const [id, all] of waits) for (const each of all) each.reject(stopping(id))
      await polling.stop()
    },
  }
}
