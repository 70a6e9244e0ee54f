/** The options that several commands have, and the parsers of their values. */
import type { Options } from './command.ts'
import { usageError } from './errors.ts'
import { conflicts } from './transfer/conflict.ts'

export const conflictOption = {
  conflict: {
    value: 'behavior',
    choices: conflicts,
    help: 'The behavior if a name is taken: fail (the default), replace the file, rename the copy, skip the file, or replace it if it is older (newer). Folders are merged, except with fail and rename.',
  },
} as const satisfies Options

export const concurrencyOption = {
  concurrency: { value: 'files', help: 'The number of files that are transferred at once, 1 to 64. The default is 8.' },
} as const satisfies Options

export const linksOption = {
  'follow-links': {
    short: 'L',
    help: 'Copy what symbolic links in local folders lead to. Otherwise they are skipped.',
  },
} as const satisfies Options

export const detachOption = {
  detach: { short: 'd', help: 'Start the job of the server, print it, and do not wait for its end.' },
} as const satisfies Options

export const recursiveOption = {
  recursive: { short: 'r', help: 'Include folders with everything in them.' },
} as const satisfies Options

export const yesOption = {
  yes: { short: 'y', help: 'Delete without a question.' },
} as const satisfies Options

export const defaultConcurrency = 8

/** @throws CommandError */
export function parseConcurrency(text: string | undefined): number {
  return text === undefined ? defaultConcurrency : parseNumber(text, 'concurrency', 64)
}

/** @throws CommandError */
export function parseNumber(text: string, name: string, max = Number.MAX_SAFE_INTEGER): number {
  const number = Number(text)
  if (/^\d{1,16}$/.test(text) && number >= 1 && number <= max) return number
  const limit = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`
  throw usageError(`--${name} must be a whole number from 1${limit}, not "${text}".`)
}

const units = { '': 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 } as const

/** Parses a number of bytes, such as `50GB`. @throws CommandError */
export function parseSize(text: string, name: string): number {
  const [, number = '', unit = ''] = /^(\d{1,16}(?:\.\d{1,9})?)(|[kmgt]b)$/i.exec(text) ?? []
  const bytes = Math.round(Number(number) * units[unit.toLowerCase() as keyof typeof units])
  if (number !== '' && Number.isSafeInteger(bytes)) return bytes
  throw usageError(`--${name} must be a size such as 500MB, 50GB or 1000000, not "${text}".`)
}

const milliseconds = { h: 3600_000, d: 24 * 3600_000, w: 7 * 24 * 3600_000 } as const

/** Parses `12h`, `30d`, `4w`, or a date such as `2027-01-31` or `2027-01-31T09:00:00Z`. @throws CommandError */
export function parseExpiry(text: string, now: Date, name = 'expires'): Date {
  const date = parseTime(text, now, 1)
  if (date) return date
  throw usageError(`--${name} must be a time such as 12h, 30d, 4w or 2027-01-31, not "${text}".`)
}

const pastExample = 'a time in the past such as 2h, 3d, 2027-01-31 or 2027-01-31T09:00:00Z'

/** Parses `12h`, `30d`, `4w`, each of them ago, or a date. @throws CommandError */
export function parsePast(text: string | undefined, now: Date): Date {
  if (text === undefined) throw usageError(`Give --at: ${pastExample}.`)
  const date = parseTime(text, now, -1)
  if (date && date < now) return date
  throw usageError(`--at must be ${pastExample}, not "${text}".`)
}

/** Parses the same, and dates to come, which a filter of times may name. @throws CommandError */
export function parseTimeFilter(text: string, name: string, now: Date): Date {
  const date = parseTime(text, now, -1)
  if (date) return date
  throw usageError(`--${name} must be a time such as 2h, 3d (ago), 2027-01-31 or 2027-01-31T09:00:00Z, not "${text}".`)
}

/** Returns null for another text. @param direction 1 for times from now on, -1 for times ago */
function parseTime(text: string, now: Date, direction: 1 | -1): Date | null {
  const [, number, unit] = /^(\d{1,5})([hdw])$/.exec(text) ?? []
  if (number !== undefined) {
    return new Date(now.getTime() + direction * Number(number) * milliseconds[unit as 'h' | 'd' | 'w'])
  }
  const date = /^\d{4}-\d{2}-\d{2}(?:$|T)/.test(text) ? new Date(text) : new Date(Number.NaN)
  return Number.isNaN(date.getTime()) ? null : date
}
