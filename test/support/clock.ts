/** Changes the clock of this process, as if somebody set it or the machine woke up. Timers are not affected. */
import type { Test } from 'tap'

/** Returns a function that offsets the clock by milliseconds. The end of the test restores the clock. */
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

/** Returns a function that adds milliseconds to `performance.now()`, as if the process had been paused for so long. */
export function pausableClock(t: Test): (milliseconds: number) => void {
  const real = performance.now.bind(performance)
  let offset = 0
  performance.now = () => real() + offset
  t.teardown(() => {
    performance.now = real
  })
  return milliseconds => {
    offset += milliseconds
  }
}
