/** The geometry of a chart, in percent of its width and height. */

/** Returns round numbers from 0 to at least `most`, in steps of 1, 2 or 5 times a power of ten. */
export function ticksOf(most: number): number[] {
  const wanted = Math.max(most, 1) / 4
  const power = 10 ** Math.floor(Math.log10(wanted))
  const step = Math.max(1, ([1, 2, 5, 10].find(factor => factor * power >= wanted) ?? 10) * power)
  const count = Math.max(1, Math.ceil(most / step))
  return Array.from({ length: count + 1 }, (_, index) => index * step)
}

interface DayAmount {
  /** An ISO time. */
  day: string
  bytes: number
}

/** Returns a point for each day, in their order: at its time between the first and the last day, and at its bytes between 0 and `most`. */
export function pointsOf(days: readonly DayAmount[], most: number): { x: number; y: number }[] {
  const times = days.map(({ day }) => Date.parse(day))
  const begin = times[0] ?? 0
  const length = (times.at(-1) ?? 0) - begin
  return days.map(({ bytes }, index) => {
    const x = length === 0 ? 100 : (((times[index] ?? 0) - begin) / length) * 100
    return { x: round(x), y: round((bytes / most) * 100) }
  })
}

function round(percent: number): number {
  return Math.round(percent * 100) / 100
}
