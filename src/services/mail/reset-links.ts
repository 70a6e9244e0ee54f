/**
 * Sends the links with which people set a new password to those who may have one, and nothing to others. The link of each attempt is a
 * new one, because the database has no token in the clear.
 */
import { randomUUID } from 'node:crypto'
import type { Database } from '../../db/client.ts'
import {
  claimResetRequest,
  isAnyRequestDue,
  type ResetRequest,
  settleResetRequest,
  type WaitingRequest,
} from '../../db/reset-requests.ts'
import { type MailedLink, mailedLifetime } from '../people/password-resets.ts'
import { type OutboxFailure, startOutbox } from './outbox.ts'
import { body, oneLine } from './text.ts'
import { mailTexts } from './texts.ts'
import type { OutgoingMail, SendMail } from './transport.ts'

/** Returns a function that ends the search for requests. */
export function startResetSender(context: {
  db: Database
  send: SendMail
  /** Without a trailing `/`. */
  publicUrl: string
  /** Returns null for a request that gets no email. */
  linkFor: (request: ResetRequest) => Promise<MailedLink | null>
  onError: (error: unknown) => void
  onFailure: (failure: OutboxFailure) => void
}): () => Promise<void> {
  const { db, send, publicUrl, linkFor, onError, onFailure } = context
  return startOutbox<WaitingRequest>({
    isAnyDue: () => isAnyRequestDue(db),
    claim: () => claimResetRequest(db, randomUUID()),
    async messageOf(request) {
      // The person has asked again or found another way.
      if (request.createdAt.getTime() + mailedLifetime < Date.now()) return null
      const link = await linkFor(request)
      return link && messageOf(request, link, publicUrl)
    },
    settle: (request, retrySeconds) => settleResetRequest(db, request, retrySeconds),
    send,
    onError,
    onFailure: (_request, failure) => onFailure(failure),
  })
}

async function messageOf(request: WaitingRequest, link: MailedLink, publicUrl: string): Promise<OutgoingMail> {
  const { text, time, language } = await mailTexts(link.language)
  const account = { account: oneLine(link.recipient), url: publicUrl, time: time(request.createdAt) }
  return {
    // Each attempt has another link, so a program must not show only the first one.
    id: randomUUID(),
    to: link.recipient,
    replyTo: null,
    language,
    subject: text('reset.subject'),
    text: body([
      text('reset.asked'),
      text('notice.from', { ...account, address: oneLine(request.address) }),
      text('reset.link', { time: time(link.expiresAt) }),
      // The token is in the fragment, which no browser sends to a server.
      `${publicUrl}/reset-password#${link.token}`,
      text('reset.ignore'),
    ]),
  }
}
