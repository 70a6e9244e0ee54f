/**
 * Sends the links with which people set a new password to those who may have one, and nothing to others. The link of each attempt is a
 * new one, because the database has no token in the clear.
 */
import { randomUUID } from 'node:crypto'
import { isAnyMessageDue, settleMessage } from '../../db/outbox.ts'
import { claimResetRequest, type ResetRequest, type WaitingRequest } from '../../db/reset-requests.ts'
import { type MailedLink, mailedLifetime } from '../people/password-resets.ts'
import { type OutboxContext, startMailOutbox } from './outbox.ts'
import { body, oneLine } from './text.ts'
import { mailTexts } from './texts.ts'
import type { OutgoingMail } from './transport.ts'

/** Returns a function that ends the search for requests. */
export function startResetSender({
  db,
  send,
  publicUrl,
  linkFor,
  onError,
  onFailure,
}: OutboxContext & {
  /** Returns null for a request that gets no email. */
  linkFor: (request: ResetRequest) => Promise<MailedLink | null>
}): () => Promise<void> {
  return startMailOutbox<WaitingRequest>({
    isAnyDue: () => isAnyMessageDue(db, 'reset_requests'),
    claim: () => claimResetRequest(db, randomUUID()),
    async messageOf(request) {
      // The person has asked again or found another way.
      if (request.createdAt.getTime() + mailedLifetime < Date.now()) return null
      const link = await linkFor(request)
      return link && messageOf(request, link, publicUrl)
    },
    settle: (request, retrySeconds) => settleMessage(db, 'reset_requests', request, retrySeconds),
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
