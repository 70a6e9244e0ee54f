/** Decides what happens to a file whose name exists at the target. */
import type { JobConflict } from '../../db/schema.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { isSameObject, timeResolution } from '../files/moving.ts'

/** DONE: an interrupted run of the job has probably made the copy. */
export type Decision = 'WRITE' | 'REPLACE' | 'SKIP' | 'DONE' | 'TAKEN'

export interface CopyTimes {
  /** Whether a copy has the modification time of its source. */
  isKept: boolean
  /** Null unless an earlier attempt of the job may have made the file at the target. */
  earlier: Earlier | null
}

/** An earlier attempt of the job may have copied the entry. */
export interface Earlier {
  /** When the job began. */
  since: Date
  /** The job itself created the folder at the target, so what is in it is probably its own. */
  isInNewFolder: boolean
}

/** @param existing the entry at the target; null if there is none */
export function decide(
  policy: JobConflict | 'SYNC',
  source: CheckedEntry,
  existing: CheckedEntry | null,
  { isKept, earlier }: CopyTimes,
): Decision {
  if (!existing) return 'WRITE'
  if (existing.kind !== 'file') return 'TAKEN'
  if (isSameObject(source, existing)) return decideAboutItself(policy, source, existing)
  if (earlier && isCopy(source, existing, isKept, earlier)) return 'DONE'
  if (policy === 'SYNC') return isUpToDate(source, existing, isKept) ? 'SKIP' : 'REPLACE'
  if (policy === 'NEWER') return isNewer(source, existing, timeResolution) ? 'REPLACE' : 'SKIP'
  if (policy === 'REPLACE') return 'REPLACE'
  return policy === 'SKIP' ? 'SKIP' : 'TAKEN'
}

/** Files of two accounts at one address can have equal ids, so a file that is skipped as itself must not look different. */
function decideAboutItself(policy: JobConflict | 'SYNC', source: CheckedEntry, existing: CheckedEntry): Decision {
  if (policy === 'RENAME') return 'TAKEN'
  return policy === 'SKIP' || !looksDifferent(source, existing) ? 'SKIP' : 'TAKEN'
}

/** Returns whether a value that is known of both shows that these are two files. */
function looksDifferent(a: CheckedEntry, b: CheckedEntry): boolean {
  const isSame = sameChecksum(a, b)
  if (isSame !== null) return !isSame
  if (a.size !== null && b.size !== null && a.size !== b.size) return true
  return a.modifiedAt !== null && b.modifiedAt !== null && !isSameTime(a, b)
}

/** Returns whether both have the same content, or null if they have no checksum in common. */
export function sameChecksum(a: CheckedEntry, b: CheckedEntry): boolean | null {
  const others = new Map(Object.entries(b.checksums))
  const common = Object.entries(a.checksums).filter(([name]) => others.has(name))
  return common.length === 0 ? null : common.every(([name, sum]) => others.get(name) === sum)
}

/** Returns whether the target looks like a complete copy that the job made earlier. */
function isCopy(
  source: CheckedEntry,
  target: CheckedEntry,
  isKept: boolean,
  { since, isInNewFolder }: Earlier,
): boolean {
  if (source.size === null ? !isInNewFolder : source.size !== target.size) return false
  const isSame = sameChecksum(source, target)
  if (isSame !== null) return isSame
  if (isKept) return isSameTime(source, target)
  const areTimesKnown = source.modifiedAt !== null && target.modifiedAt !== null
  // The clock of the target may differ, so its time counts only where somebody else may have made the file.
  if (isInNewFolder) return !areTimesKnown || !isNewer(source, target, timeResolution)
  return Number(target.modifiedAt) >= since.getTime() - timeResolution && !isNewer(source, target, timeResolution)
}

/**
 * Returns whether a SYNC does not need to write the target. Where a copy keeps the time of its source, any other time shows
 * another version, also an older one. Elsewhere, a file that changed less than the resolution of times before it was copied
 * may have changed after it was copied, too, so it is copied again.
 */
function isUpToDate(source: CheckedEntry, target: CheckedEntry, isKept: boolean): boolean {
  if (source.size === null || source.size !== target.size) return false
  return (
    sameChecksum(source, target) ?? (isKept ? isSameTime(source, target) : !isNewer(source, target, -timeResolution))
  )
}

/** Returns whether the target has the time of the source, which its back end may have rounded to one or two seconds. */
function isSameTime(source: CheckedEntry, target: CheckedEntry): boolean {
  if (source.modifiedAt === null || target.modifiedAt === null) return false
  const kept = target.modifiedAt.getTime()
  const resolution = [timeResolution, 1000].find(each => kept % each === 0) ?? 1
  return Math.abs(source.modifiedAt.getTime() - kept) < resolution
}

/** @param tolerance milliseconds by which the source has to be newer */
function isNewer(source: CheckedEntry, target: CheckedEntry, tolerance: number): boolean {
  if (source.modifiedAt === null || target.modifiedAt === null) return true
  return source.modifiedAt.getTime() > target.modifiedAt.getTime() + tolerance
}
