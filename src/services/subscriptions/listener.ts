import type { Database } from '../../db/client.ts'
import { type ListenOptions, listen } from '../../db/listen.ts'

/** Milliseconds that the connection for notifications stays open after the last subscription. */
const idleTimeout = 10_000

/** Listens to a channel of the database while there are subscriptions. */
export interface Listener {
  /** Call this for each new subscription. */
  start(): void
  /** Call this when the last subscription has ended. */
  stopLater(): void
  stop(): Promise<void>
}

/** @param options.onStopped called when listening has ended, because there are no subscriptions */
export function createListener(db: Database, options: ListenOptions & { onStopped(): void }): Listener {
  let stopListening: (() => Promise<void>) | undefined
  let idleTimer: NodeJS.Timeout | undefined

  async function stop(): Promise<void> {
    clearTimeout(idleTimer)
    options.onStopped()
    const stopped = stopListening?.()
    stopListening = undefined
    await stopped
  }

  return {
    start() {
      clearTimeout(idleTimer)
      stopListening ??= listen(db, options)
    },
    stopLater() {
      idleTimer = setTimeout(() => void stop().catch(options.onError), idleTimeout).unref()
    },
    stop,
  }
}
