/** Counts files and bytes while a job works, so that it can say how much is left. */
import type { Totals } from '../../db/jobs/leases.ts'
import { AppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { children, requireDepth } from '../files/tree.ts'

/**
 * Adds everything at and below a location to `count`. Folders that cannot be listed do not count: the job reports them.
 */
export async function countTree(location: ReadLocation, count: Totals, signal: AbortSignal): Promise<void> {
  const entry = await location.stat(signal)
  await countEntry(location, entry, count, signal, 0)
}

async function countEntry(
  location: ReadLocation,
  entry: CheckedEntry,
  count: Totals,
  signal: AbortSignal,
  depth: number,
): Promise<void> {
  if (entry.kind === 'directory') return countFolder(location, count, signal, depth)
  count.files += 1
  count.bytes += entry.size ?? 0
}

async function countFolder(folder: ReadLocation, count: Totals, signal: AbortSignal, depth: number): Promise<void> {
  requireDepth(depth)
  try {
    for await (const entry of children(folder, signal)) {
      await countEntry(folder.child(entry.name), entry, count, signal, depth + 1)
    }
  } catch (error) {
    if (signal.aborted || !(error instanceof AppError)) throw error
  }
}
