/**
 * How much of a long proof runs. `npm test` runs at least one round of it, or a fixed sample; `npm run test:nightly` runs all
 * of it, by setting NIGHTLY.
 */
import type { Test } from 'tap'

export const isNight = process.env.NIGHTLY === '1'

let turn = 0

/** Returns one of the values, the next one with each call in a process, such as the width of a window; all of them by night. */
export function inTurn<T>(values: readonly T[]): readonly T[] {
  if (isNight) return values
  const index = turn++ % values.length
  return values.slice(index, index + 1)
}

export function extent<T>({ gate, nightly }: { gate: T; nightly: T }): T {
  return isNight ? nightly : gate
}

/** Declares a test that only `npm run test:nightly` runs. By day, another test of the same file proves the main part of it. */
export async function atNight(t: Test, name: string, run: (t: Test) => unknown): Promise<void> {
  if (isNight) await t.test(name, run)
}
