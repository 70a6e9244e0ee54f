import type { CheckedEntry } from '../../../storage/validate-entry.ts'

/** A child of a folder with its part of the key: its name, and for a folder a "/" behind it. */
export interface KeyedChild {
  part: string
  entry: CheckedEntry
}

export function keyed(entry: CheckedEntry): KeyedChild {
  return { part: entry.kind === 'directory' ? `${entry.name}/` : entry.name, entry }
}
