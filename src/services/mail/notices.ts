/** Tells people by email that the ways to sign in to their account have changed, so that they notice when it was somebody else. */
import { randomUUID } from 'node:crypto'
import { claimNotice, insertNotice, type WaitingNotice } from '../../db/account-notices.ts'
import type { Change } from '../../db/client.ts'
import { isAnyMessageDue, settleMessage } from '../../db/outbox.ts'
import type { NoticeKind } from '../../db/schema.ts'
import { maxAddress } from '../audit/event.ts'
import { type OutboxContext, startMailOutbox } from './outbox.ts'
import { body, oneLine } from './text.ts'
import { mailTexts } from './texts.ts'

/** Adds a message to a change of an account. */
export type Notify = (
  change: Change,
  notice: { userId: string; kind: NoticeKind; name?: string; address: string },
) => Promise<void>

/** @param sendsEmail whether the server sends email: without it, nothing waits */
export function createNotify(sendsEmail: boolean): Notify {
  return async (change, { userId, kind, name = null, address }) => {
    if (sendsEmail) await insertNotice(change, { userId, kind, name, address: address.slice(0, maxAddress) })
  }
}

/** Returns a function that ends the search for messages. */
export function startNoticeSender(context: OutboxContext): () => Promise<void> {
  const { db, send, publicUrl, onError, onFailure } = context
  return startMailOutbox<WaitingNotice>({
    isAnyDue: () => isAnyMessageDue(db, 'account_notices'),
    claim: () => claimNotice(db, randomUUID()),
    messageOf: async notice => ({
      id: notice.id,
      to: notice.recipient,
      replyTo: null,
      ...(await messageOf(notice, publicUrl)),
    }),
    settle: (notice, retrySeconds) => settleMessage(db, 'account_notices', notice, retrySeconds),
    send,
    onError,
    onFailure: (_notice, failure) => onFailure(failure),
  })
}

async function messageOf(notice: WaitingNotice, publicUrl: string) {
  const { kind, name, address, createdAt, recipient, language } = notice
  const { text, time, language: used } = await mailTexts(language)
  const change = text(`notice.${kind}`)
  const account = { account: oneLine(recipient), url: publicUrl, time: time(createdAt) }
  return {
    language: used,
    subject: change,
    text: body([
      name === null ? text('notice.plain', { change }) : text('notice.named', { change, name: oneLine(name) }),
      address === ''
        ? text('notice.onServer', account)
        : text('notice.from', { ...account, address: oneLine(address) }),
      text('notice.advice', { url: `${publicUrl}/settings/profile` }),
    ]),
  }
}
