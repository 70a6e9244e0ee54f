const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

/** Seconds, and as many as there are of them before the next larger one takes over. */
const units = [
  ['second', 1, 60],
  ['minute', 60, 60],
  ['hour', 3600, 24],
  ['day', 86_400, 30],
  ['month', 2_592_000, 12],
  ['year', 31_536_000, Number.POSITIVE_INFINITY],
] as const

/** "in 3 months", "yesterday" */
export function fromNow(at: string, now = Date.now()): string {
  const seconds = (Date.parse(at) - now) / 1000
  const [unit, size] =
    units.find(([, size, limit]) => Math.abs(Math.round(seconds / size)) < limit) ?? units[units.length - 1] ?? units[0]
  return relative.format(Math.round(seconds / size), unit)
}

/** To the minute. */
export const exactTime = (at: string) => minute.format(new Date(at))

/** A date, or how far away it is; the other one, to the minute, is shown on pointing at it. */
export function Time({ at, as = 'day' }: { at: string; as?: 'day' | 'distance' }) {
  const exact = exactTime(at)
  return (
    <time dateTime={at} title={as === 'day' ? `${exact} (${fromNow(at)})` : exact}>
      {as === 'day' ? day.format(new Date(at)) : fromNow(at)}
    </time>
  )
}
