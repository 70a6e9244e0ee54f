/**
 * Sends the emails that are due: each is attempted by one of the servers at a time. They are plain text, so that a note
 * or a name cannot add a link or an image of its own.
 */
import { randomUUID } from 'node:crypto'
import { formatPath, nameOf, root } from '../../auth/path.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import { claimEmail, isAnyEmailDue, type ShareEmail, settleEmail } from '../../db/shares/emails.ts'
import { type OutboxFailure, startOutbox } from './outbox.ts'
import { body, oneLine } from './text.ts'
import type { SendMail } from './transport.ts'

interface MailSenderContext {
  db: Database
  secrets: Secrets
  send: SendMail
  /** Without a trailing `/`. */
  publicUrl: string
  onError: (error: unknown) => void
  onMailFailure: (failure: MailFailure) => void
}

export interface MailFailure extends OutboxFailure {
  /** Null for a message to somebody about their account. */
  shareId: string | null
}

/** Returns a function that ends the search. A message whose attempt is cut off is attempted again, by any server. */
export function startMailSender(context: MailSenderContext): () => Promise<void> {
  const { db, send, onError, onMailFailure } = context
  return startOutbox<ShareEmail>({
    isAnyDue: () => isAnyEmailDue(db),
    claim: () => claimEmail(db, randomUUID()),
    messageOf(email) {
      const message = messageOf(context, email)
      return message && { id: email.id, to: email.recipient ?? email.creator.email, ...message }
    },
    settle: (email, retrySeconds) => settleEmail(db, email, retrySeconds),
    send,
    onError,
    onFailure: (email, failure) => onMailFailure({ shareId: email.share.id, ...failure }),
  })
}

/** Returns null for an invitation to a link that has ended meanwhile, and for a message to a program. */
function messageOf({ secrets, publicUrl }: MailSenderContext, email: ShareEmail) {
  const { recipient, share } = email
  if (recipient === null) return email.creator.isService ? null : arrivals(email, publicUrl)
  if (share.revokedAt !== null || (share.expiresAt !== null && share.expiresAt <= new Date())) return null
  return invitation(email, `${publicUrl}/s/${secrets.open('share', share.id, share.token)}`)
}

/** The invitation to use a link. */
function invitation(
  { share, creator, providerName }: ShareEmail,
  url: string,
): { subject: string; text: string; replyTo: string | null } {
  const { kind, note, expiresAt, passwordHash } = share
  const who = oneLine(creator.name ?? creator.email)
  const what = sharedName(share.paths, providerName)
  const parts = [
    kind === 'VIEW' ? `${who} shares ${what} with you:` : `${who} asks you to send files to ${what}:`,
    url,
    ...(note === '' ? [] : [`${who} writes:`, quoted(note)]),
    ...(passwordHash === null ? [] : [`The link needs a password. Ask ${who} for it.`]),
    ...(expiresAt === null ? [] : [`The link works until ${expiresAt.toUTCString()}.`]),
    share.recipients === null
      ? 'Anyone who has the link can use it. You do not need an account.'
      : 'Sign in with your account to open it. The link is of no use to others.',
  ]
  const subject = kind === 'VIEW' ? `${who} shares ${what} with you` : `${who} asks you for files`
  return { subject, text: body(parts), replyTo: creator.isService ? null : creator.email }
}

/** Tells the creator of a drop link that files arrived. File names come from strangers, so the message has none. */
function arrivals(
  { share, files, bytes, providerName }: ShareEmail,
  publicUrl: string,
): { subject: string; text: string; replyTo: null } {
  const what = sharedName(share.paths, providerName)
  const count = files === 1 ? '1 file' : `${files} files`
  const arrived = `${count} arrived in ${what}`
  const [folder = root] = share.paths
  const address = `${publicUrl}/files/${share.providerId}${formatPath(folder).split('/').map(encodeURIComponent).join('/')}`
  return {
    subject: arrived,
    text: body([
      `${arrived} through your share link (${size(bytes)}).`,
      `${oneLine(providerName)}: ${oneLine(formatPath(folder))}`,
      `See the files: ${address}`,
      `Change or revoke the link, or end these messages: ${publicUrl}/settings/shares`,
    ]),
    replyTo: null,
  }
}

function sharedName(paths: ShareEmail['share']['paths'], providerName: string): string {
  const [first, ...others] = paths
  if (first === undefined || others.length > 0) return `${paths.length} items`
  return `\u201c${oneLine(nameOf(first) || providerName)}\u201d`
}

function quoted(text: string): string {
  const lines = text.split(/\r\n|[\r\n]/)
  return lines.map(line => `> ${line}`).join('\n')
}

/** Decimal, as the console shows sizes. */
function size(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${Number((bytes / 1000 ** power).toFixed(1))} ${units[power]}`
}
