/** Milliseconds between two calls. */
const interval = 60_000

/** Returns a function that calls `report` once a minute at most, so that a fault that lasts does not fill the log. */
export function rarely<Arguments extends readonly unknown[]>(
  report: (...given: Arguments) => void,
): (...given: Arguments) => void {
  let calledAt = Number.NEGATIVE_INFINITY
  return (...given) => {
    if (performance.now() - calledAt < interval) return
    calledAt = performance.now()
    report(...given)
  }
}
