import { language, locale } from './languages.ts'

const byteUnits = [
  ['byte', 'B'],
  ['kilobyte', 'KB'],
  ['megabyte', 'MB'],
  ['gigabyte', 'GB'],
  ['terabyte', 'TB'],
  ['petabyte', 'PB'],
] as const
const unitFormats = new Map<string, Intl.NumberFormat>()
const number = new Intl.NumberFormat(locale)
const signed = new Intl.NumberFormat(locale, { signDisplay: 'exceptZero' })
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
const month = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric' })
const minute = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const thisYear = new Intl.DateTimeFormat(locale, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
/** A list of units has no separators in Chinese. */
const list = new Intl.ListFormat(locale, { type: 'conjunction', style: 'narrow' })
const collator = new Intl.Collator(locale, { numeric: true })

/** Each unit in seconds, and the count from which the next larger unit is used. */
const timeUnits = [
  ['second', 1, 60],
  ['minute', 60, 60],
  ['hour', 3600, 24],
  ['day', 86_400, 30],
  ['month', 2_592_000, 12],
  ['year', 31_536_000, Number.POSITIVE_INFINITY],
] as const

/** Formats a number with a unit in the words of the language. */
function formatUnit(value: number, unit: string, unitDisplay: 'short' | 'long' = 'short', digits?: number): string {
  const key = `${unit} ${unitDisplay}`
  let format = unitFormats.get(key)
  if (!format) {
    format = new Intl.NumberFormat(locale, {
      style: 'unit',
      unit,
      unitDisplay,
      minimumSignificantDigits: digits,
      maximumSignificantDigits: digits,
    })
    unitFormats.set(key, format)
  }
  return format.format(value)
}

/** Formats a size in powers of 1000 with three digits: "1.23 MB". */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return language === 'en' ? `${bytes} B` : formatUnit(bytes, 'byte')
  let power = Math.min(Math.floor(Math.log10(bytes) / 3), byteUnits.length - 1)
  let value = bytes / 1000 ** power
  // 999,999 B would be "1000 KB".
  if (value >= 999.5 && power < byteUnits.length - 1) {
    power += 1
    value = 1
  }
  const [unit, symbol] = byteUnits[power] ?? byteUnits[0]
  return language === 'en' ? `${value.toPrecision(3)} ${symbol}` : formatUnit(value, unit, 'short', 3)
}

/** Formats a change of a size with its sign, on the side where the language has it. */
export function formatChange(bytes: number): string {
  const sign = signed.formatToParts(Math.sign(bytes)).filter(({ type }) => type === 'plusSign' || type === 'minusSign')
  return `${sign.map(({ value }) => value).join('')}${formatBytes(Math.abs(bytes))}`
}

export function formatNumber(value: number): string {
  return number.format(value)
}

/** Formats a count in English: the other languages have a plural in their message. */
export function formatCount(count: number, one: string, several = `${one}s`): string {
  return `${number.format(count)} ${count === 1 ? one : several}`
}

/** Formats a duration in seconds: "45 s", "3 min", "2 h 10 min", "4 days". */
export function formatDuration(seconds: number): string {
  if (seconds < 60) return formatTime(Math.max(1, Math.round(seconds)), 's', 'second')
  if (seconds < 3600) return formatTime(Math.round(seconds / 60), 'min', 'minute')
  const hours = Math.floor(seconds / 3600)
  if (hours >= 48) return formatUnit(Math.round(hours / 24), 'day', 'long')
  const minutes = Math.round((seconds % 3600) / 60)
  return `${formatTime(hours, 'h', 'hour')} ${formatTime(minutes, 'min', 'minute')}`
}

/** English uses the symbols of the SI, which are shorter than "sec" and "hr". */
function formatTime(value: number, symbol: string, unit: string): string {
  return language === 'en' ? `${value} ${symbol}` : formatUnit(value, unit)
}

/** Joins parts as the language does: "3 files, 2 folders". */
export function formatList(parts: readonly string[]): string {
  return list.format(parts)
}

/** Formats a date: "21 Nov 2026". */
export function formatDay(iso: string): string {
  return day.format(new Date(iso))
}

/** Formats the day of a midnight in UTC, wherever the browser is. */
export function formatUtcDay(iso: string): string {
  return formatDay(`${iso.slice(0, 10)}T12:00:00`)
}

/** Formats a month: "November 2026". */
export function formatMonth(iso: string): string {
  return month.format(new Date(iso))
}

/** Formats a date and time to the minute. */
export function formatMinute(iso: string): string {
  return minute.format(new Date(iso))
}

/** Formats a time for a table: with the time of day this year, with the year otherwise. */
export function formatRecent(iso: string): string {
  const time = new Date(iso)
  return (time.getFullYear() === new Date().getFullYear() ? thisYear : day).format(time)
}

/** Formats the distance from now: "in 3 months", "yesterday". */
export function formatDistance(iso: string, now = Date.now()): string {
  const seconds = (Date.parse(iso) - now) / 1000
  const fits = ([, size, limit]: (typeof timeUnits)[number]) => Math.abs(Math.round(seconds / size)) < limit
  const [unit, size] = timeUnits.find(fits) ?? timeUnits[5]
  return relative.format(Math.round(seconds / size), unit)
}

/** Compares names by the rules of the language, and numbers in them by their value. */
export const compareNames: (one: string, other: string) => number = collator.compare
