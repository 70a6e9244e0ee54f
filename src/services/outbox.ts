/** Sends the messages of a table that are due: each is attempted by one of the servers at a time. */
import { startClaiming } from '../lib/polling.ts'
import { deliverySchedule, retryDelay } from '../lib/retry.ts'

/** Milliseconds between two searches for due messages. */
const pollInterval = 1000
/** Milliseconds that running attempts get when the server stops. A message whose attempt is cut off may be sent twice. */
const stopTimeout = 5000

/** An attempt that has failed. */
export interface FailedAttempt {
  attempts: number
  /** Null after the last attempt. */
  retrySeconds: number | null
}

interface Outbox<Waiting, Message> {
  /** Messages that one server sends at once. */
  atOnce: number
  isAnyDue: () => Promise<boolean>
  claim: () => Promise<Waiting | null>
  /** Returns null for a message that nobody should get any more. */
  messageOf: (waiting: Waiting) => Promise<Message | null>
  send: (message: Message, signal: AbortSignal) => Promise<void>
  /** Returns the least seconds until the next attempt; null after an error that is final. */
  leastDelay: (error: unknown) => number | null
  /** Ends a claim: the message is attempted again after a time or, for null, removed. */
  settle: (waiting: Waiting, retrySeconds: number | null) => Promise<void>
  /** For errors of the server itself. */
  onError: (error: unknown) => void
  onFailure: (waiting: Waiting, error: unknown, attempt: FailedAttempt) => void
}

/** Returns a function that ends the search. */
export function startOutbox<Waiting extends { attempts: number }, Message>(
  outbox: Outbox<Waiting, Message>,
): () => Promise<void> {
  const { atOnce, isAnyDue, claim, messageOf, send, leastDelay, settle, onError, onFailure } = outbox
  const cut = new AbortController()

  async function attempt(waiting: Waiting): Promise<void> {
    try {
      const message = await messageOf(waiting)
      if (message !== null) await send(message, cut.signal)
    } catch (error) {
      const attempts = waiting.attempts + 1
      const least = leastDelay(error)
      const retrySeconds = least === null ? null : retryDelay(deliverySchedule, attempts, least)
      await settle(waiting, retrySeconds)
      onFailure(waiting, error, { attempts, retrySeconds })
      return
    }
    await settle(waiting, null)
  }

  const polling = startClaiming({ interval: pollInterval, atOnce, isAnyDue, claim, work: attempt, onError })
  return async () => {
    const timer = setTimeout(() => cut.abort(), stopTimeout)
    await polling.stop()
    clearTimeout(timer)
  }
}
