import { usageError } from './errors.ts'

const milliseconds = { h: 3600_000, d: 24 * 3600_000, w: 7 * 24 * 3600_000 } as const

/** Parses `12h`, `30d`, `4w`, or a date such as `2027-01-31` or `2027-01-31T09:00:00Z`. @throws CommandError */
export function parseExpiry(text: string, now: Date): Date {
  const [, number, unit] = /^(\d{1,5})([hdw])$/.exec(text) ?? []
  if (number !== undefined) return new Date(now.getTime() + Number(number) * milliseconds[unit as 'h' | 'd' | 'w'])
  const date = /^\d{4}-\d{2}-\d{2}(?:$|T)/.test(text) ? new Date(text) : new Date(Number.NaN)
  if (!Number.isNaN(date.getTime())) return date
  throw usageError(`--expires must be a time such as 12h, 30d, 4w or 2027-01-31, not "${text}".`)
}
