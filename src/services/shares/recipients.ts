import { AppError } from '../../errors.ts'
import { parseEmail } from '../input.ts'

/** The maximum number of addresses that get a link by email. */
export const maxRecipients = 10

/** Excludes the characters that separate addresses in a header, and those of quoted names. */
const oneAddress = /^[^()<>,;:"[\]\\]+$/

/** Parses the addresses that get a link by email. @throws INVALID_INPUT */
export function parseRecipients(texts: readonly string[]): string[] {
  if (texts.length > maxRecipients) {
    throw new AppError('INVALID_INPUT', `A link is sent to at most ${maxRecipients} addresses.`)
  }
  const emails = texts.map(parseEmail)
  if (emails.every(email => oneAddress.test(email))) return [...new Set(emails)]
  throw new AppError('INVALID_INPUT', 'Each recipient is an email address such as name@example.org.')
}
