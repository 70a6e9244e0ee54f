/** The texts of emails. They are plain text, so that a note or a name cannot add a link or an image of its own. */
import { formatPath, nameOf, root } from '../../auth/path.ts'
import type { ShareEmail } from '../../db/shares/emails.ts'

/** Characters of a name in a subject. */
const maxSubjectName = 80
/** Control characters, line breaks, and characters that change the direction of text. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/** The invitation to use a link. */
export function invitation(
  { share, maker, providerName }: ShareEmail,
  url: string,
): { subject: string; text: string; replyTo: string } {
  const { kind, note, expiresAt, passwordHash } = share
  const who = oneLine(maker.name ?? maker.email)
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
  return { subject, text: body(parts), replyTo: maker.email }
}

/** Tells the maker of a drop link that files arrived. File names come from strangers, so the message has none. */
export function arrivals(
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
