/** Decides what happens to a file whose name exists at the target. */
import type { JobConflict } from '../../db/schema.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { isSameObject, timeResolution } from '../files/moving.ts'

/** DONE: an interrupted run of the job has probably made the copy. */
export type Decision = 'WRITE' | 'REPLACE' | 'SKIP' | 'DONE' | 'TAKEN'

export interface CopyTimes {
  /** Whether a copy has the modification time of its source. */
  isKept: boolean
  /** Null unless the file may be a copy that an interrupted run of this job made after this time. */
  since: Date | null
}

/** @param existing the entry at the target; null if there is none */
export function decide(
  policy: JobConflict | 'SYNC',
  source: CheckedEntry,
  existing: CheckedEntry | null,
  { isKept, since }: CopyTimes,
): Decision {
  if (!existing) return 'WRITE'
  if (existing.kind !== 'file') return 'TAKEN'
  if (isSameObject(source, existing)) return policy === 'RENAME' ? 'TAKEN' : 'SKIP'
  if (since && isCopy(source, existing, isKept, since)) return 'DONE'
  if (policy === 'SYNC') return isUpToDate(source, existing, isKept) ? 'SKIP' : 'REPLACE'
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
function isCopy(source: CheckedEntry, target: CheckedEntry, isKept: boolean, since: Date): boolean {
  const isSince = Number(target.modifiedAt) >= since.getTime() - timeResolution
  return isUpToDate(source, target, isKept) && (isKept || isSince || sameChecksum(source, target) === true)
}

/**
 * Returns whether a SYNC does not need to write the target. Where a copy keeps the time of its source, any other time shows
 * another version, also an older one.
 */
function isUpToDate(source: CheckedEntry, target: CheckedEntry, isKept: boolean): boolean {
  if (source.size === null || source.size !== target.size) return false
  return sameChecksum(source, target) ?? (isKept ? isSameTime(source, target) : !isNewer(source, target))
}

/** Returns whether the target has the time of the source, which its back end may have rounded to one or two seconds. */
function isSameTime(source: CheckedEntry, target: CheckedEntry): boolean {
  if (source.modifiedAt === null || target.modifiedAt === null) return false
  const kept = target.modifiedAt.getTime()
  const resolution = [timeResolution, 1000].find(each => kept % each === 0) ?? 1
  return Math.abs(source.modifiedAt.getTime() - kept) < resolution
}

function isNewer(source: CheckedEntry, target: CheckedEntry): boolean {
  if (source.modifiedAt === null || target.modifiedAt === null) return true
  return source.modifiedAt.getTime() > target.modifiedAt.getTime() + timeResolution
}
