/** Sends the emails of a table that are due. */
import type { Database } from '../../db/client.ts'
import { type FailedAttempt, startOutbox } from '../outbox.ts'
import { faultOf, type MailFault, type OutgoingMail, type SendMail } from './transport.ts'

/** Messages that one server sends at once. */
const atOnce = 4

export interface OutboxFailure extends Omit<MailFault, 'isRefused'>, FailedAttempt {}

/** Everything that the senders of all messages need. */
export interface OutboxContext {
  db: Database
  send: SendMail
  /** Without a trailing `/`. */
  publicUrl: string
  onError: (error: unknown) => void
  onFailure: (failure: OutboxFailure) => void
}

interface MailOutbox<Waiting> {
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
export function startMailOutbox<Waiting extends { attempts: number }>(
  outbox: MailOutbox<Waiting>,
): () => Promise<void> {
  return startOutbox({
    ...outbox,
    atOnce,
    leastDelay: error => (faultOf(error).isRefused ? null : 0),
    onFailure(waiting, error, attempt) {
      const { code, replyCode } = faultOf(error)
      outbox.onFailure(waiting, { ...attempt, code, replyCode })
    },
  })
}
