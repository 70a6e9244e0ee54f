/**
 * How much of a long proof runs. `npm test` runs at least one round of it, or a fixed sample; `npm run test:nightly` runs all
 * of it, by setting NIGHTLY.
 */
export const isNight = process.env.NIGHTLY === '1'

export function extent<T>({ gate, nightly }: { gate: T; nightly: T }): T {
  return isNight ? nightly : gate
}
