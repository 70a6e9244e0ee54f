/** Tells people by email that the ways to sign in to their account have changed, so that they notice when it was somebody else. */
import { randomUUID } from 'node:crypto'
import {
  claimNotice,
  insertNotice,
  isAnyNoticeDue,
  settleNotice,
  type WaitingNotice,
} from '../../db/account-notices.ts'
import type { Change, Database } from '../../db/client.ts'
import type { NoticeKind } from '../../db/schema.ts'
import { maxAddress } from '../audit/event.ts'
import { type OutboxFailure, startOutbox } from './outbox.ts'
import { body, oneLine } from './text.ts'
import type { SendMail } from './transport.ts'

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
export function startNoticeSender(context: {
  db: Database
  send: SendMail
  /** Without a trailing `/`. */
  publicUrl: string
  onError: (error: unknown) => void
  onFailure: (failure: OutboxFailure) => void
}): () => Promise<void> {
  const { db, send, publicUrl, onError, onFailure } = context
  return startOutbox<WaitingNotice>({
    isAnyDue: () => isAnyNoticeDue(db),
    claim: () => claimNotice(db, randomUUID()),
    messageOf: notice => ({ id: notice.id, to: notice.recipient, replyTo: null, ...messageOf(notice, publicUrl) }),
    settle: (notice, retrySeconds) => settleNotice(db, notice, retrySeconds),
    send,
    onError,
    onFailure: (_notice, failure) => onFailure(failure),
  })
}

const changes: Record<NoticeKind, string> = {
  TOTP_ADDED: 'An authenticator app was added to your account',
  TOTP_REMOVED: 'The authenticator app of your account was removed',
  PASSKEY_ADDED: 'A passkey was added to your account',
  PASSKEY_REMOVED: 'A passkey of your account was removed',
  FACTORS_RESET: 'All second factors of your account were removed by an administrator',
  PASSWORD_CHANGED: 'The password of your account was changed',
  PASSWORD_RESET: 'The password of your account was set with a link from an administrator',
  IDENTITY_LINKED: 'An account at an issuer was linked with your account',
  IDENTITY_UNLINKED: 'The link of your account with an account at an issuer was removed',
}

function messageOf(notice: WaitingNotice, publicUrl: string): { subject: string; text: string } {
  const { kind, name, address, createdAt, recipient } = notice
  const what = name === null ? changes[kind] : `${changes[kind]}: \u201c${oneLine(name)}\u201d`
  const from = address === '' ? 'on the server' : `from ${oneLine(address)}`
  return {
    subject: changes[kind],
    text: body([
      `${what}.`,
      `${oneLine(recipient)} at ${publicUrl}, ${createdAt.toUTCString()}, ${from}`,
      `If it was you, there is nothing to do. If not, tell an administrator at once, and look at your passkeys, codes and sessions: ${publicUrl}/settings/profile`,
    ]),
  }
}
