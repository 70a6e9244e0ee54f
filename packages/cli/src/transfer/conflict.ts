/** Decides what happens to a file, with the words of the API. */
import type { Item } from '../trees/tree.ts'

/** The values of `--conflict`, as for jobs. */
export const conflicts = ['fail', 'replace', 'rename', 'skip', 'newer'] as const
export type ConflictPolicy = (typeof conflicts)[number]

export type Decision = 'write' | 'replace' | 'rename' | 'skip' | 'taken'

/** Milliseconds. Some file systems and back ends round times to one or two seconds. */
const timeResolution = 2000

/**
 * @param existing what has the name at the target; null if it is free
 * @param keepsTimes whether a copy has the modification time of its source, as on this machine. In a storage, an upload has the
 *   time at which it was made.
 */
export function decide(
  policy: ConflictPolicy | 'sync',
  source: Item,
  existing: Item | null,
  keepsTimes: boolean,
): Decision {
  if (!existing) return 'write'
  if (policy === 'rename') return 'rename'
  if (policy === 'fail' || existing.kind !== 'file') return 'taken'
  if (policy === 'newer') return isNewer(source, existing, timeResolution) ? 'replace' : 'skip'
  if (policy === 'sync') return isUpToDate(source, existing, keepsTimes) ? 'skip' : 'replace'
  return policy
}

/** Where copies keep times, another time shows another version. Elsewhere, a copy must be newer than its source. */
function isUpToDate(source: Item, copy: Item, keepsTimes: boolean): boolean {
  if (source.size === null || source.size !== copy.size) return false
  return keepsTimes ? isSameTime(source, copy) : !isNewer(source, copy, -timeResolution)
}

function isSameTime(source: Item, copy: Item): boolean {
  if (source.modifiedAt === null || copy.modifiedAt === null) return false
  const kept = copy.modifiedAt.getTime()
  // The file system may have rounded the time.
  const resolution = [timeResolution, 1000].find(each => kept % each === 0) ?? 2
  return Math.abs(source.modifiedAt.getTime() - kept) < resolution
}

/** @param tolerance milliseconds by which the source has to be newer */
function isNewer(source: Item, copy: Item, tolerance: number): boolean {
  if (source.modifiedAt === null || copy.modifiedAt === null) return true
  return source.modifiedAt.getTime() > copy.modifiedAt.getTime() + tolerance
}
