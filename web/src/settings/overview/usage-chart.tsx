import type { PointerEvent } from 'react'
import { formatBytes, formatUtcDay } from '../../texts/format.ts'
import { texts as insightTexts } from '../../texts/insight.ts'
import { texts } from '../../texts/overview.ts'
import { pointsOf, ticksOf } from './chart-points.ts'
import type { UsageDay } from './operations.ts'

/**
 * The bytes of each day as a line. A slider that nobody sees covers it: arrow keys, a mouse and a finger choose a day, and screen readers
 * hear its amounts.
 * @param index that of the day that is marked
 * @param onShow gets null when a mouse leaves
 */
export function UsageChart({
  days,
  index,
  onShow,
}: {
  days: readonly UsageDay[]
  index: number
  onShow: (index: number | null) => void
}) {
  const ticks = ticksOf(Math.max(...days.map(({ bytes }) => bytes)))
  const points = pointsOf(days, ticks.at(-1) ?? 1)
  const marked = points[index]
  const line = points.map(({ x, y }, at) => `${at === 0 ? 'M' : 'L'}${x} ${100 - y}`).join(' ')
  const [first, last, day] = [points[0], points.at(-1), days[index]]
  if (!first || !last || !day) return null

  /** Shows the day that is nearest to the pointer. */
  function follow({ currentTarget, clientX }: PointerEvent<HTMLInputElement>): void {
    const { left, width } = currentTarget.getBoundingClientRect()
    const along = ((clientX - left) / width) * 100
    const x = getComputedStyle(currentTarget).direction === 'rtl' ? 100 - along : along
    const distances = points.map(point => Math.abs(point.x - x))
    onShow(distances.indexOf(Math.min(...distances)))
  }

  return (
    <div className="usage-chart">
      <div className="usage-plot">
        {ticks.map((tick, at) => (
          <span key={tick} className="usage-tick" style={{ bottom: `${(at / (ticks.length - 1)) * 100}%` }}>
            <span aria-hidden="true">{formatBytes(tick)}</span>
          </span>
        ))}
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
          <path className="usage-area" d={`${line} L${last.x} 100 L${first.x} 100 Z`} />
          <path className="usage-line" d={line} />
        </svg>
        {marked && (
          <span className="usage-cursor" style={{ insetInlineStart: `${marked.x}%` }} aria-hidden="true">
            <span className="usage-dot" style={{ bottom: `${marked.y}%` }} />
          </span>
        )}
        <input
          type="range"
          min={0}
          max={days.length - 1}
          value={index}
          aria-label={texts.usage}
          aria-valuetext={`${formatUtcDay(day.day)}: ${insightTexts.sum(day.files, day.bytes)}`}
          onChange={({ target }) => onShow(Number(target.value))}
          onPointerMove={follow}
          onPointerDown={follow}
          onPointerLeave={({ pointerType }) => {
            // A finger leaves when it is lifted, and the person still reads the day.
            if (pointerType === 'mouse') onShow(null)
          }}
        />
      </div>
      <div className="usage-axis" aria-hidden="true">
        {days.length > 1 && <span>{formatUtcDay(days[0]?.day ?? day.day)}</span>}
        <span>{formatUtcDay(days.at(-1)?.day ?? day.day)}</span>
      </div>
    </div>
  )
}
