/** Decides what happens to a file whose name exists at the target. */
import type { JobConflict } from '../../db/schema.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { isSameObject, timeResolution } from '../files/moving.ts'

/** DONE: an interrupted run of the job has probably made the copy. */
export type Decision = 'WRITE' | 'REPLACE' | 'SKIP' | 'DONE' | 'TAKEN'

/**
 * @param existing the entry at the target; null if there is none
 * @param since null unless the file may be a copy that an interrupted run of this job made after this time
 */
export function decide(
  policy: JobConflict | 'SYNC',
  source: CheckedEntry,
  existing: CheckedEntry | null,
  since: Date | null,
): Decision {
  if (!existing) return 'WRITE'
  if (existing.kind !== 'file') return 'TAKEN'
  if (isSameObject(source, existing)) return policy === 'RENAME' ? 'TAKEN' : 'SKIP'
  if (since && isCopy(source, existing, since)) return 'DONE'
  if (policy === 'SYNC') return isUpToDate(source, existing) ? 'SKIP' : 'REPLACE'
  if (policy === 'NEWER') return isNewer(source, existing) ? 'REPLACE' : 'SKIP'
  if (policy === 'REPLACE') return 'REPLACE'
  return policy === 'SKIP' ? 'SKIP' : 'TAKEN'
}

/** Returns whether both have the same content, or null if they have no checksum in common. */
export function sameChecksum(a: CheckedEntry, b: CheckedEntry): boolean | null {
  const others = new Map(Object.entries(b.checksums))
  const common = Object.entries(a.checksums).filter(([name]) => others.has(name))
  return common.length === 0 ? null : common.every(([name, sum]) => others.get(name) === sum)
}

/** Returns whether size and checksum, or size and times, are those of a complete copy that was made since. */
function isCopy(source: CheckedEntry, target: CheckedEntry, since: Date): boolean {
  if (source.size === null || source.size !== target.size) return false
  const isSince = Number(target.modifiedAt) >= since.getTime() - timeResolution
  return sameChecksum(source, target) ?? (isSince && !isNewer(source, target))
}

/** Returns whether a SYNC does not need to write the target. */
function isUpToDate(source: CheckedEntry, target: CheckedEntry): boolean {
  if (source.size === null || source.size !== target.size) return false
  return sameChecksum(source, target) ?? !isNewer(source, target)
}

function isNewer(source: CheckedEntry, target: CheckedEntry): boolean {
  if (source.modifiedAt === null || target.modifiedAt === null) return true
  return source.modifiedAt.getTime() > target.modifiedAt.getTime() + timeResolution
}
