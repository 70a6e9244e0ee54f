/**
 * Sends the emails that are due: each is attempted by one of the servers at a time. They are plain text, so that a note
 * or a name cannot add a link or an image of its own.
 */
import { randomUUID } from 'node:crypto'
import type { Transporter } from 'nodemailer'
import { formatPath, nameOf, root } from '../../auth/path.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import { claimEmail, isAnyEmailDue, type ShareEmail, settleEmail } from '../../db/shares/emails.ts'
import { startClaiming } from '../../lib/polling.ts'
import { deliverySchedule, retryDelay } from '../../lib/retry.ts'
import { startDeadline } from '../../lib/timeout.ts'

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

/** Returns null for an invitation to a link that has ended meanwhile, and for a message to a program. */
function messageOf({ secrets, publicUrl }: MailSenderContext, email: ShareEmail) {
  const { recipient, share } = email
  if (recipient === null) return email.creator.isService ? null : arrivals(email, publicUrl)
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
    'Anyone who has the link can use it. You do not need an account.',
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

// Sends email through the SMTP server that the operator has set.

export interface MailSettings {
  /** "smtp://" or "smtps://", possibly with a name and a password. */
  smtpUrl: string
  /** The sender's address. */
  from: string
}

export interface OutgoingMail {
  /** Makes the same Message-ID for each attempt, so that a message which is sent twice is shown once. */
  id: string
  to: string
  replyTo: string | null
  /** One line. */
  subject: string
  text: string
}

/** The signal interrupts the attempt. */
export type SendMail = (mail: OutgoingMail, signal: AbortSignal) => Promise<void>

/** Milliseconds until the server has greeted. */
const connectTimeout = 30_000
/** Milliseconds for the whole attempt, also of a server that sends one byte at a time. */
const attemptTimeout = 120_000

/** The library is loaded with the first message. `faultOf` describes the errors. */
export function createMailTransport({ smtpUrl, from }: MailSettings): SendMail {
  let transport: Promise<Transporter> | undefined
  const domain = from.slice(from.lastIndexOf('@') + 1)
  return async ({ id, to, replyTo, subject, text }, signal) => {
    using deadline = startDeadline(attemptTimeout, () => new Error('The mail server is too slow.'), signal)
    transport ??= load(smtpUrl)
    await (await transport).sendMail({
      messageId: `<${id}@${domain}>`,
      from: { name: 'Stowage', address: from },
      // Addresses as objects are not parsed as lists.
      to: { name: '', address: to },
      ...(replyTo !== null && { replyTo: { name: '', address: replyTo } }),
      subject,
      text,
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal: deadline.signal,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }
}

export interface MailFault {
  /** A code of Node.js or of the library, such as "ECONNREFUSED" or "EAUTH". */
  code: string
  /** The reply code of the SMTP server, if it sent one. */
  replyCode: number | null
  /** Whether the server refuses this message permanently (RFC 5321, section 4.2.1). */
  isRefused: boolean
}

/** Omits the texts of errors, because they can contain the recipient. */
export function faultOf(error: unknown): MailFault {
  const {
    code = 'UNKNOWN',
    originalCode = code,
    responseCode = null,
    permanent = false,
  } = error as { code?: string; originalCode?: string; responseCode?: number; permanent?: boolean }
  const isAboutMessage = code === 'EENVELOPE' || code === 'EMESSAGE'
  return { code: originalCode, replyCode: responseCode, isRefused: permanent && isAboutMessage }
}

async function load(smtpUrl: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  const { protocol, hostname, port, username, password } = new URL(smtpUrl)
  const secure = protocol === 'smtps:'
  const auth = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
  return createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    // A password is never sent in the clear. Without one, TLS is used if the server offers it.
    requireTLS: auth.pass !== '',
    ...(auth.user !== '' && { auth }),
    connectionTimeout: connectTimeout,
    greetingTimeout: connectTimeout,
  })
}
