/** Sends email through the SMTP server that the operator has set. */
import type { Transporter } from 'nodemailer'
import { startDeadline } from '../../lib/timeout.ts'

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
  /** The tag of the language of the text. */
  language: string
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
  return async ({ id, to, replyTo, subject, text, language }, signal) => {
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
      headers: { 'Auto-Submitted': 'auto-generated', 'Content-Language': language },
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
