/** Sends the emails that are due: each is attempted by one of the servers at a time. */
import { randomUUID } from 'node:crypto'
import type { Secrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import { claimEmails, isAnyEmailDue, type ShareEmail, settleEmail } from '../../db/shares/emails.ts'
import { startPolling } from '../polling.ts'
import { retryDelay } from '../webhooks/retry.ts'
import { arrivals, invitation } from './messages.ts'
import { faultOf, type MailFault, type SendMail } from './transport.ts'

/** Milliseconds between two searches for due messages. */
const pollInterval = 1000
/** Messages that one server sends at once. */
const maxAtOnce = 4
/** Milliseconds that running attempts get when the server stops. A message whose attempt is cut off may be sent twice. */
const stopTimeout = 5000

export interface MailSenderContext {
  db: Database
  secrets: Secrets
  send: SendMail
  /** Without a trailing `/`. */
  publicUrl: string
  onError: (error: unknown) => void
  onMailFailure: (failure: MailFailure) => void
}

export interface MailFailure extends Omit<MailFault, 'isRefused'> {
  shareId: string
  attempts: number
  /** Null after the last attempt. */
  retrySeconds: number | null
}

/** Returns a function that ends the search. A message whose attempt is cut off is attempted again, by any server. */
export function startMailSender(context: MailSenderContext): () => Promise<void> {
  const { db, onError } = context
  const cut = new AbortController()

  async function search(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await isAnyEmailDue(db))) {
      const claim = randomUUID()
      const emails = await claimEmails(db, claim, maxAtOnce)
      if (emails.length === 0) return
      await Promise.all(emails.map(email => attempt(context, email, claim, cut.signal).catch(onError)))
    }
  }

  const polling = startPolling({ interval: pollInterval, search, onError })
  return async () => {
    const timer = setTimeout(() => cut.abort(), stopTimeout)
    await polling.stop()
    clearTimeout(timer)
  }
}

async function attempt(
  context: MailSenderContext,
  email: ShareEmail,
  claim: string,
  signal: AbortSignal,
): Promise<void> {
  const { db, send, onMailFailure } = context
  try {
    const message = messageOf(context, email)
    if (message) await send({ id: email.id, to: email.recipient ?? email.maker.email, ...message }, signal)
  } catch (error) {
    const { isRefused, ...fault } = faultOf(error)
    const attempts = email.attempts + 1
    const retrySeconds = isRefused ? null : retryDelay(attempts, null)
    await settleEmail(db, email, claim, retrySeconds)
    onMailFailure({ shareId: email.share.id, attempts, retrySeconds, ...fault })
    return
  }
  await settleEmail(db, email, claim, null)
}

/** Returns null for an invitation to a link that has ended meanwhile. */
function messageOf({ secrets, publicUrl }: MailSenderContext, email: ShareEmail) {
  const { recipient, share } = email
  if (recipient === null) return arrivals(email, publicUrl)
  if (share.revokedAt !== null || (share.expiresAt !== null && share.expiresAt <= new Date())) return null
  return invitation(email, `${publicUrl}/s/${secrets.open('share', share.id, share.token)}`)
}
