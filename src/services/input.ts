/** Text that people type, parsed once. */
import { emailKey } from '../db/users.ts'
import { AppError } from '../errors.ts'
import { isLanguage, type Language, languages } from '../lib/languages.ts'

/** Characters are UTF-16 code units. */
const maxNameLength = 200
const maxEmailLength = 254
/** Bytes of UTF-8, as the database holds it: a compatibility form can be many times as long as the text. */
const maxEmailKeyBytes = 1024
// RFC 5321 allows almost everything, so this only requires one "@", and excludes spaces and text that could be smuggled
// into a header.
const emailPattern = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,189}$/u
const controlCharacter = /\p{Cc}/u
/** Bytes of UTF-8. Lists read up to a hundred jobs, schedules or shares, each with all of its paths. */
const maxPathsBytes = 64 * 1024

/** The name of a key, a provider, a person or a workspace. @throws INVALID_INPUT */
export function parseName(text: string, what: string): string {
  const name = text.trim()
  if (name === '' || name.length > maxNameLength || controlCharacter.test(name) || !name.isWellFormed()) {
    throw new AppError('INVALID_INPUT', `${what} has 1 to ${maxNameLength} characters and no control characters.`)
  }
  return name
}

/** The tag of a language; empty for none. @throws INVALID_INPUT */
export function parseLanguage(tag: string): Language | null {
  if (tag === '') return null
  if (isLanguage(tag)) return tag
  throw new AppError('INVALID_INPUT', `A language is one of ${languages.join(', ')}.`)
}

/** The email of a new account. @throws INVALID_INPUT */
export function parseEmail(text: string): string {
  const email = parseKnownEmail(text)
  if (!emailPattern.test(email) || Buffer.byteLength(emailKey(email)) > maxEmailKeyBytes) {
    throw new AppError('INVALID_INPUT', 'An email address looks like name@example.org.')
  }
  return email
}

/**
 * An email by which to look an account up. It may be any text that an account can have as its email. @throws
 * INVALID_INPUT
 */
export function parseKnownEmail(text: string): string {
  const email = text.trim()
  if (email.length > maxEmailLength) {
    throw new AppError('INVALID_INPUT', `An email address has at most ${maxEmailLength} characters.`)
  }
  return email
}

/** @throws INVALID_INPUT */
export function parseFuture(date: Date, what: string): Date {
  if (Number.isNaN(date.getTime()) || date <= new Date()) {
    throw new AppError('INVALID_INPUT', `${what} must be in the future.`)
  }
  return date
}

/** @throws INVALID_INPUT */
export function parsePageSize(first: number, max: number): number {
  if (first < 1 || first > max) throw new AppError('INVALID_INPUT', `"first" is a number from 1 to ${max}.`)
  return first
}

/**
 * Bounds all paths of one job, schedule or share together.
 * @param advice tells the person what to do instead
 * @throws INVALID_INPUT
 */
export function requireShortPaths(paths: readonly string[], advice: string): void {
  const bytes = paths.reduce((sum, path) => sum + Buffer.byteLength(path), 0)
  if (bytes <= maxPathsBytes) return
  throw new AppError('INVALID_INPUT', `The paths have more than ${maxPathsBytes} bytes together: ${advice}.`)
}
