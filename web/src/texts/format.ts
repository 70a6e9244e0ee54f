const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']
const number = new Intl.NumberFormat()
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const month = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric' })
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const thisYear = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

/** Each unit in seconds, and the count from which the next larger unit is used. */
const timeUnits = [
  ['second', 1, 60],
  ['minute', 60, 60],
  ['hour', 3600, 24],
  ['day', 86_400, 30],
  ['month', 2_592_000, 12],
  ['year', 31_536_000, Number.POSITIVE_INFINITY],
] as const

/** Formats a size in powers of 1000 with three digits: "1.23 MB". */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1)
  const value = bytes / 1000 ** power
  // 999,999 B would be "1000 KB".
  if (value >= 999.5 && power < units.length - 1) return `1.00 ${units[power + 1]}`
  return `${value.toPrecision(3)} ${units[power]}`
}

export function formatNumber(value: number): string {
  return number.format(value)
}

export function formatCount(count: number, one: string, several = `${one}s`): string {
  return `${number.format(count)} ${count === 1 ? one : several}`
}

/** Formats a duration in seconds: "45 s", "3 min", "2 h 10 min", "4 days". */
export function formatDuration(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`
  const hours = Math.floor(seconds / 3600)
  return hours < 48 ? `${hours} h ${Math.round((seconds % 3600) / 60)} min` : `${Math.round(hours / 24)} days`
}

/** Formats a date: "21 Nov 2026". */
export function formatDay(iso: string): string {
  return day.format(new Date(iso))
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
