import { texts } from '../../texts/jobs.ts'
import { locale } from '../../texts/languages.ts'

/** The times of a schedule: cron patterns, and the choices of the dialog that stand for them. */

export type Frequency = 'hour' | 'day' | 'week' | 'month' | 'custom'

export interface RunTimes {
  frequency: Frequency
  /** As in a time input: "02:30". For `hour`, only its minute counts. */
  time: string
  /** 0 is Sunday. */
  weekday: string
  /** 1 to 31. */
  day: string
  /** The pattern for `custom`. */
  cron: string
}

const onceInHour = /^(\d{1,2}) \* \* \* \*$/
const onceInDay = /^(\d{1,2}) (\d{1,2}) (\*|\d{1,2}) \* (\*|[0-7])$/

export const defaultTimes: RunTimes = { frequency: 'day', time: '02:00', weekday: '1', day: '1', cron: '0 2 * * *' }

/** Returns the choices that a pattern stands for; `custom` if there are none. */
export function timesOf(cron: string): RunTimes {
  const custom: RunTimes = { ...defaultTimes, frequency: 'custom', cron }
  const [, minuteOfHour] = onceInHour.exec(cron) ?? []
  if (minuteOfHour !== undefined) return { ...custom, frequency: 'hour', time: clock('0', minuteOfHour) }
  const [, minute = '', hour = '', day = '', weekday = ''] = onceInDay.exec(cron) ?? []
  const daily = { ...custom, time: clock(hour, minute) }
  if (minute === '' || (day !== '*' && weekday !== '*')) return custom
  if (weekday !== '*') return { ...daily, frequency: 'week', weekday: String(Number(weekday) % 7) }
  return day === '*' ? { ...daily, frequency: 'day' } : { ...daily, frequency: 'month', day: String(Number(day)) }
}

/** Returns the pattern of the choices. */
export function cronOf({ frequency, time, weekday, day, cron }: RunTimes): string {
  const [hour = 0, minute = 0] = time.split(':').map(Number)
  if (frequency === 'custom') return cron.trim()
  if (frequency === 'hour') return `${minute} * * * *`
  const [days, weekdays] = [frequency === 'month' ? day : '*', frequency === 'week' ? weekday : '*']
  return `${minute} ${hour} ${days} * ${weekdays}`
}

/** Describes a pattern: "Every Monday at 02:30". */
export function describeTimes(pattern: string): string {
  const { frequency, time, weekday, day, cron } = timesOf(pattern)
  const at = formatClock(time)
  if (frequency === 'hour') return texts.everyHour(Number(time.slice(3)))
  if (frequency === 'day') return texts.everyDay(at)
  if (frequency === 'week') return texts.everyWeek(weekdayNames[Number(weekday)] ?? '', at)
  if (frequency === 'month') return texts.everyMonth(day, at)
  return texts.cron(cron)
}

const weekdayFormat = new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' })
const clockFormat = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' })

/** From Sunday, as in a pattern. The first of January 2023 is a Sunday. */
export const weekdayNames = Array.from({ length: 7 }, (_, day) => weekdayFormat.format(Date.UTC(2023, 0, 1 + day)))

/** The time zone of the browser. */
export const ownTimeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

function clock(hour: string, minute: string): string {
  return `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
}

function formatClock(time: string): string {
  const [hour, minute] = time.split(':').map(Number)
  return clockFormat.format(Date.UTC(2023, 0, 1, hour, minute))
}
