/**
 * Sends the emails that are due: each is attempted by one of the servers at a time. They are plain text, so that a note
 * or a name cannot add a link or an image of its own.
 */
import { randomUUID } from 'node:crypto'
import { formatPath, nameOf, root } from '../../auth/path.ts'
import type { Secrets } from '../../auth/secrets.ts'
import { isAnyMessageDue, settleMessage } from '../../db/outbox.ts'
import { claimEmail, type ShareEmail } from '../../db/shares/emails.ts'
import { type OutboxContext, type OutboxFailure, startMailOutbox } from './outbox.ts'
import { body, oneLine, quoted } from './text.ts'
import { type MailTexts, mailTexts } from './texts.ts'

interface MailSenderContext extends Omit<OutboxContext, 'onFailure'> {
  secrets: Secrets
  onMailFailure: (failure: MailFailure) => void
}

export interface MailFailure extends OutboxFailure {
  about: 'a share' | 'an account' | 'a comment' | 'a new password'
  /** Null for a message about something else. */
  shareId: string | null
}

/** Returns a function that ends the search. A message whose attempt is cut off is attempted again, by any server. */
export function startMailSender(context: MailSenderContext): () => Promise<void> {
  const { db, send, onError, onMailFailure } = context
  return startMailOutbox<ShareEmail>({
    isAnyDue: () => isAnyMessageDue(db, 'share_emails'),
    claim: () => claimEmail(db, randomUUID()),
    async messageOf(email) {
      const texts = await mailTexts(email.language)
      const message = messageOf(context, email, texts)
      const to = email.recipient ?? email.creator.email
      return message && { id: email.id, to, language: texts.language, ...message }
    },
    settle: (email, retrySeconds) => settleMessage(db, 'share_emails', email, retrySeconds),
    send,
    onError,
    onFailure: (email, failure) => onMailFailure({ about: 'a share', shareId: email.share.id, ...failure }),
  })
}

/** Returns null for an invitation that is of no use any more, and for a message to a program. */
function messageOf({ secrets, publicUrl }: MailSenderContext, email: ShareEmail, texts: MailTexts) {
  const { recipient, share } = email
  if (recipient === null) return email.creator.isService ? null : arrivals(email, publicUrl, texts)
  if (share.revokedAt !== null || (share.expiresAt !== null && share.expiresAt <= new Date())) return null
  // The person was removed from the share, or left the workspace, while the message waited.
  if (share.recipients && !share.recipients.some(({ email }) => email === recipient)) return null
  return invitation(email, `${publicUrl}/s/${secrets.open('share', share.id, share.token)}`, texts)
}

/** The invitation to use a link. */
function invitation(
  { share, creator, providerName }: ShareEmail,
  url: string,
  { text, time }: MailTexts,
): { subject: string; text: string; replyTo: string | null } {
  const { kind, note, expiresAt, passwordHash } = share
  const who = oneLine(creator.name ?? creator.email)
  const what = sharedName(share.paths, providerName, text)
  const parts = [
    text(kind === 'VIEW' ? 'invitation.files' : 'invitation.send', { who, what }),
    url,
    ...(note === '' ? [] : [text('invitation.note', { who }), quoted(note)]),
    ...(passwordHash === null ? [] : [text('invitation.password', { who })]),
    ...(expiresAt === null ? [] : [text('invitation.until', { time: time(expiresAt) })]),
    text(share.recipients === null ? 'invitation.anyone' : 'invitation.members'),
  ]
  const subject = text(kind === 'VIEW' ? 'invitation.subject' : 'invitation.request', { who, what })
  return { subject, text: body(parts), replyTo: creator.isService ? null : creator.email }
}

/** Tells the creator of a drop link that files arrived. File names come from strangers, so the message has none. */
function arrivals(
  { share, files, bytes, providerName }: ShareEmail,
  publicUrl: string,
  { text, size }: MailTexts,
): { subject: string; text: string; replyTo: null } {
  const what = sharedName(share.paths, providerName, text)
  const [folder = root] = share.paths
  const address = `${publicUrl}/files/${share.providerId}${formatPath(folder).split('/').map(encodeURIComponent).join('/')}`
  return {
    subject: text('arrivals.subject', { count: files, what }),
    text: body([
      text('arrivals.text', { count: files, what, size: size(bytes) }),
      `${oneLine(providerName)}: ${oneLine(formatPath(folder))}`,
      text('arrivals.see', { url: address }),
      text('arrivals.change', { url: `${publicUrl}/settings/shares` }),
    ]),
    replyTo: null,
  }
}

function sharedName(paths: ShareEmail['share']['paths'], providerName: string, text: MailTexts['text']): string {
  const [first, ...others] = paths
  if (first === undefined || others.length > 0) return text('items', { count: paths.length })
  return text('quoted', { name: oneLine(nameOf(first) || providerName) })
}
