/** Entries that adapters may use instead of looking again, because the host has seen them just now. */
import type { Entry } from '../../adapters/contract.ts'
import type { CheckedEntry } from './validate-entry.ts'

/** Milliseconds, from the contract. */
const freshness = 2_000

const seenAt = new WeakMap<CheckedEntry, number>()

/** @param askedAt when the call began that returned the entry, by `performance.now` */
export function noteSeen<E extends CheckedEntry>(entry: E, askedAt: number): E {
  seenAt.set(entry, askedAt)
  return entry
}

/** Returns the option `entry` of an adapter's method, unless the entry is too old. */
export function known(seen: CheckedEntry | undefined): { entry?: Entry } {
  if (!seen) return {}
  const askedAt = seenAt.get(seen) ?? Number.NEGATIVE_INFINITY
  return performance.now() - askedAt < freshness ? { entry: toEntry(seen) } : {}
}

/** Returns the entry as the adapter returned it. */
export function toEntry({ fileId, ...facts }: CheckedEntry): Entry {
  return { ...facts, ...(fileId !== null && { fileId }) }
}
