/** The settings of a share, as people send them. */
import { checkPassword } from '../../auth/passwords.ts'
import type { ShareKind } from '../../auth/viewer.ts'
import type { ShareRecord, ShareSettings } from '../../db/shares/shares.ts'
import { AppError } from '../../errors.ts'
import { parseEmail, parseFuture } from '../input.ts'

/** Undefined leaves a setting as it is, and null removes it. */
export interface ShareSettingsInput {
  password?: string | null | undefined
  note?: string | null | undefined
  expiresAt?: Date | null | undefined
  maxDownloads?: number | null | undefined
  maxBytes?: number | null | undefined
  fileTypes?: readonly string[] | null | undefined
  notify?: boolean | null | undefined
}

/** Characters. Fewer than in the password of an account, because the link itself is secret. */
export const minSharePassword = 8
/** UTF-16 code units. */
export const maxNote = 2000
export const maxFileTypes = 50
/** The largest `integer` of PostgreSQL. */
const maxDownloadLimit = 2_147_483_647

const fileType = /^[a-z0-9][a-z0-9_+-]{0,19}$/
/** Control characters, except the end of a line. */
const controlCharacter = /[^\P{Cc}\n]/u

export const noSettings: ShareSettings = {
  passwordHash: null,
  note: '',
  expiresAt: null,
  maxDownloads: null,
  maxBytes: null,
  fileTypes: [],
  notify: false,
}

/**
 * Parses the settings that the input gives, and checks the password, which the caller hashes.
 * @throws INVALID_INPUT
 */
export function parseSettings(
  kind: ShareKind,
  { password, note, expiresAt, maxDownloads, maxBytes, fileTypes, notify }: ShareSettingsInput,
): Partial<ShareSettings> {
  if (password != null) checkPassword(password, minSharePassword)
  if (kind === 'DROP' && maxDownloads != null) {
    throw new AppError('INVALID_INPUT', 'Only a share of the kind VIEW can have "maxDownloads".')
  }
  if (kind === 'VIEW' && (maxBytes != null || fileTypes?.length || notify)) {
    throw new AppError('INVALID_INPUT', 'Only a share of the kind DROP can have "maxBytes", "fileTypes" and "notify".')
  }
  return {
    ...(password === null && { passwordHash: null }),
    ...(note !== undefined && { note: parseNote(note ?? '') }),
    ...(expiresAt !== undefined && { expiresAt: expiresAt && parseFuture(expiresAt, 'The expiry of a share') }),
    ...(maxDownloads !== undefined && { maxDownloads: parseLimit(maxDownloads, 'maxDownloads', maxDownloadLimit) }),
    ...(maxBytes !== undefined && { maxBytes: parseLimit(maxBytes, 'maxBytes', Number.MAX_SAFE_INTEGER) }),
    ...(fileTypes !== undefined && { fileTypes: parseFileTypes(fileTypes ?? []) }),
    ...(notify != null && { notify }),
  }
}

/** Requires that a drop link accepts a file with this name. @throws FILE_TYPE_NOT_ALLOWED */
export function requireFileType({ fileTypes }: Pick<ShareRecord, 'fileTypes'>, name: string): void {
  const lower = name.toLowerCase()
  if (fileTypes.length === 0 || fileTypes.some(type => lower.endsWith(`.${type}`))) return
  const accepted = fileTypes.map(type => `.${type}`).join(', ')
  throw new AppError('FILE_TYPE_NOT_ALLOWED', `This link accepts only files of these types: ${accepted}.`)
}

function parseNote(text: string): string {
  const note = text.replaceAll('\r\n', '\n').trim()
  if (note.length > maxNote || controlCharacter.test(note) || !note.isWellFormed()) {
    throw new AppError('INVALID_INPUT', `A note has at most ${maxNote} characters and no control characters.`)
  }
  return note
}

function parseLimit(limit: number | null, name: string, max: number): number | null {
  if (limit === null || (limit >= 1 && limit <= max)) return limit
  throw new AppError('INVALID_INPUT', `"${name}" is a number from 1 to ${max}, or null for no limit.`)
}

function parseFileTypes(texts: readonly string[]): string[] {
  if (texts.length > maxFileTypes) throw new AppError('INVALID_INPUT', `Give at most ${maxFileTypes} file types.`)
  const types = texts.map(text => text.trim().toLowerCase().replace(/^\./, ''))
  if (types.every(type => fileType.test(type))) return [...new Set(types)]
  throw new AppError('INVALID_INPUT', 'A file type is the ending of a name, such as "pdf".')
}

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
