/** The number of rounds and the random seed: `FAULT_ROUNDS=50 FAULT_SEED=7`, see CONTRIBUTING.md. */
import type { Test } from 'tap'
import { randomNumbers } from '../support/random.ts'

/** Returns the number of rounds: `few` unless FAULT_ROUNDS is set. */
export function rounds(few: number): number {
  return Number(process.env.FAULT_ROUNDS ?? few)
}

/** Generates random numbers from FAULT_SEED, and prints the seed. */
export function dice(t: Test): () => number {
  const seed = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000)
  t.comment(`FAULT_SEED=${seed}`)
  return randomNumbers(seed)
}

export const below = (random: () => number, end: number): number => Math.floor(random() * end)
