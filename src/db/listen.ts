/** Receives notifications of PostgreSQL on a connection outside of the pool. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type RetrySchedule, retryDelay } from '../lib/retry.ts'
import { withTimeout } from '../lib/timeout.ts'
import { connectionBeside, type Database } from './client.ts'

/** In milliseconds. */
const reconnecting: RetrySchedule = { delays: [250, 1000, 5000], isEndless: true }
/** Milliseconds for the connection to close. */
const closeTimeout = 1000

export interface ListenOptions {
  /** A constant name without special characters. */
  channel: string
  onNotification(payload: string): void
  /** Called whenever listening begins. Notifications from before are lost. */
  onListening(): void
  /** Called when a connection fails. Listening begins again later. */
  onError(error: unknown): void
}

/** Listens until the result is called, which resolves when the connection is closed. */
export function listen(db: Database, { channel, onNotification, onListening, onError }: ListenOptions) {
  const stop = new AbortController()
  /** Attempts since the last connection that worked. */
  let failures = 0

  async function listenOnce(): Promise<void> {
    const client = connectionBeside(db)
    const lost = Promise.withResolvers<void>()
    client.on('error', lost.reject).on('end', () => lost.resolve())
    client.on('notification', ({ payload = '' }) => onNotification(payload))
    const onStop = () => lost.resolve()
    stop.signal.addEventListener('abort', onStop, { once: true })
    try {
      await Promise.race([client.connect(), lost.promise])
      if (stop.signal.aborted) return
      await client.query(`listen ${channel}`)
      failures = 0
      onListening()
      await lost.promise
    } finally {
      stop.signal.removeEventListener('abort', onStop)
      lost.promise.catch(() => {})
      await withTimeout(client.end(), closeTimeout, () => new Error('The connection does not close')).catch(() => {})
    }
  }

  async function listenAgain(): Promise<void> {
    while (!stop.signal.aborted) {
      await listenOnce().catch(error => {
        if (!stop.signal.aborted) onError(error)
      })
      failures += 1
      await sleep(retryDelay(reconnecting, failures) ?? undefined, undefined, {
        signal: stop.signal,
        ref: false,
      }).catch(() => {})
    }
  }

  const listening = listenAgain()
  return async (): Promise<void> => {
    stop.abort()
    await listening
  }
}
