/** The clock of this process, as one that somebody sets, or a machine that wakes up from long ago. Time itself goes on. */
import type { Test } from 'tap'

/** What it does is undone at the end of the test. Resolves with what sets the clock off by so many milliseconds. */
export function steppedClock(t: Test): (milliseconds: number) => void {
  const Real = Date
  let offset = 0
  const now = () => Real.now() + offset
  globalThis.Date = new Proxy(Real, {
    construct: (target, args) => Reflect.construct(target, args.length === 0 ? [now()] : args),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  })
  t.teardown(() => {
    globalThis.Date = Real
  })
  return milliseconds => {
    offset = milliseconds
  }
}
