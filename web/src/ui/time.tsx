import { formatDay, formatDistance, formatMinute } from '../texts/format.ts'

/** Shows a date or its distance from now; a tooltip shows the exact time. */
export function Time({ at, as = 'day' }: { at: string; as?: 'day' | 'distance' }) {
  const exact = formatMinute(at)
  return (
    <time dateTime={at} title={as === 'day' ? `${exact} (${formatDistance(at)})` : exact}>
      {as === 'day' ? formatDay(at) : formatDistance(at)}
    </time>
  )
}
