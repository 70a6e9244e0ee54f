/** The number of rounds and the random seed: `FAULT_ROUNDS=50 FAULT_SEED=7`, see CONTRIBUTING.md. */
import type { Test } from 'tap'

/** Returns the number of rounds: `few` unless FAULT_ROUNDS is set. */
export function rounds(few: number): number {
  return Number(process.env.FAULT_ROUNDS ?? few)
}

/** Generates numbers from 0 up to 1 from the seed (mulberry32, public domain), and prints the seed. */
export function dice(t: Test): () => number {
  let state = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000)
  t.comment(`FAULT_SEED=${state}`)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const below = (random: () => number, end: number): number => Math.floor(random() * end)
