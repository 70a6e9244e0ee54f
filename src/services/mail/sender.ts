/**
 * Sends the emails that are due: each is attempted by one of the servers at a time. They are plain text, so that a note
 * or a name cannot add a link or an image of its own.
 */
import { randomUUID } from 'node:crypto'
import { formatPath, nameOf, root } from '../../auth/path.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import { claimEmail, isAnyEmailDue, type ShareEmail, settleEmail } from '../../db/shares/emails.ts'
import { startClaiming } from '../../lib/polling.ts'
import { deliverySchedule, retryDelay } from '../../lib/retry.ts'
import { faultOf, type MailFault, type SendMail } from './transport.ts'

/** Milliseconds between two searches for due messages. */
const pollInterval = 1000
/** Messages that one server sends at once. */
const maxAtOnce = 4
/** Milliseconds that running attempts get when the server stops. A message whose attempt is cut off may be sent twice. */
const stopTimeout = 5000

interface MailSenderContext {
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

  const polling = startClaiming({
    interval: pollInterval,
    atOnce: maxAtOnce,
    isAnyDue: () => isAnyEmailDue(db),
    claim: () => claimEmail(db, randomUUID()),
    work: email => attempt(context, email, cut.signal),
    onError,
  })
  return async () => {
    const timer = setTimeout(() => cut.abort(), stopTimeout)
    await polling.stop()
    clearTimeout(timer)
  }
}

async function attempt(context: MailSenderContext, email: ShareEmail, signal: AbortSignal): Promise<void> {
  const { db, send, onMailFailure } = context
  try {
    const message = messageOf(context, email)
    if (message) await send({ id: email.id, to: email.recipient ?? email.creator.email, ...message }, signal)
  } catch (error) {
    const { isRefused, ...fault } = faultOf(error)
    const attempts = email.attempts + 1
    const retrySeconds = isRefused ? null : retryDelay(deliverySchedule, attempts)
    await settleEmail(db, email, retrySeconds)
    onMailFailure({ shareId: email.share.id, attempts, retrySeconds, ...fault })
    return
  }
  await settleEmail(db, email, null)
}

/** Returns null for an invitation to a link that has ended meanwhile. */
function messageOf({ secrets, publicUrl }: MailSenderContext, email: ShareEmail) {
  const { recipient, share } = email
  if (recipient === null) return arrivals(email, publicUrl)
  if (share.revokedAt !== null || (share.expiresAt !== null && share.expiresAt <= new Date())) return null
  return invitation(email, `${publicUrl}/s/${secrets.open('share', share.id, share.token)}`)
}

/** Characters of a name in a subject. */
const maxSubjectName = 80
/** Control characters, line breaks, and characters that change the direction of text. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/** The invitation to use a link. */
function invitation(
  { share, creator, providerName }: ShareEmail,
  url: string,
): { subject: string; text: string; replyTo: string } {
  const { kind, note, expiresAt, passwordHash } = share
  const who = oneLine(creator.name ?? creator.email)
  const what = sharedName(share.paths, providerName)
  const parts = [
    kind === 'VIEW' ? `${who} shares ${what} with you:` : `${who} asks you to send files to ${what}:`,
    url,
    ...(note === '' ? [] : [`${who} writes:`, quoted(note)]),
    ...(passwordHash === null ? [] : [`The link needs a password. Ask ${who} for it.`]),
    ...(expiresAt === null ? [] : [`The link works until ${expiresAt.toUTCString()}.`]),
    'Anyone who has the link can use it. You do not need an account.',
  ]
  const subject = kind === 'VIEW' ? `${who} shares ${what} with you` : `${who} asks you for files`
  return { subject, text: body(parts), replyTo: creator.email }
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

function oneLine(text: string): string {
  const line = text.replace(unsafe, ' ').trim()
  return line.length > maxSubjectName ? `${line.slice(0, maxSubjectName - 1).toWellFormed()}\u2026` : line
}

function quoted(text: string): string {
  const lines = text.split(/\r\n|[\r\n]/)
  return lines.map(line => `> ${line}`).join('\n')
}

function body(parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`
}

/** Decimal, as the console shows sizes. */
function size(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${Number((bytes / 1000 ** power).toFixed(1))} ${units[power]}`
}
