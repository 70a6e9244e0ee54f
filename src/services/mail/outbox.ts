/** Sends the messages of a table that are due: each is attempted by one of the servers at a time. */
import type { Database } from '../../db/client.ts'
import { startClaiming } from '../../lib/polling.ts'
import { deliverySchedule, retryDelay } from '../../lib/retry.ts'
import { faultOf, type MailFault, type OutgoingMail, type SendMail } from './transport.ts'

/** Milliseconds between two searches for due messages. */
const pollInterval = 1000
/** Messages that one server sends at once. */
const maxAtOnce = 4
/** Milliseconds that running attempts get when the server stops. A message whose attempt is cut off may be sent twice. */
const stopTimeout = 5000

export interface OutboxFailure extends Omit<MailFault, 'isRefused'> {
  attempts: number
  /** Null after the last attempt. */
  retrySeconds: number | null
}

/** Everything that the senders of all messages need. */
export interface OutboxContext {
  db: Database
  send: SendMail
  /** Without a trailing `/`. */
  publicUrl: string
  onError: (error: unknown) => void
  onFailure: (failure: OutboxFailure) => void
}

interface Outbox<Waiting> {
  isAnyDue: () => Promise<boolean>
  claim: () => Promise<Waiting | null>
  /** Returns null for a message that nobody should get any more. */
  messageOf: (waiting: Waiting) => Promise<OutgoingMail | null>
  /** Ends a claim: the message is attempted again after a time or, for null, removed. */
  settle: (waiting: Waiting, retrySeconds: number | null) => Promise<void>
  send: SendMail
  onError: (error: unknown) => void
  onFailure: (waiting: Waiting, failure: OutboxFailure) => void
}

/** Returns a function that ends the search. */
export function startOutbox<Waiting extends { attempts: number }>(outbox: Outbox<Waiting>): () => Promise<void> {
  const { isAnyDue, claim, messageOf, settle, send, onError, onFailure } = outbox
  const cut = new AbortController()

  async function attempt(waiting: Waiting): Promise<void> {
    try {
      const message = await messageOf(waiting)
      if (message) await send(message, cut.signal)
    } catch (error) {
      const { isRefused, ...fault } = faultOf(error)
      const attempts = waiting.attempts + 1
      const retrySeconds = isRefused ? null : retryDelay(deliverySchedule, attempts)
      await settle(waiting, retrySeconds)
      onFailure(waiting, { attempts, retrySeconds, ...fault })
      return
    }
    await settle(waiting, null)
  }

  const polling = startClaiming({ interval: pollInterval, atOnce: maxAtOnce, isAnyDue, claim, work: attempt, onError })
  return async () => {
    const timer = setTimeout(() => cut.abort(), stopTimeout)
    await polling.stop()
    clearTimeout(timer)
  }
}
