/** Copies or moves one file of a job, after deciding about a file that has its name at the target. */
import { formatPath } from '../../auth/path.ts'
import type { CopiedVersions, NewJobEntry } from '../../db/jobs/entries.ts'
import type { JobConflict, StoredVersion } from '../../db/schema.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import { type CheckedEntry, keepsTime } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { nameTaken, statOrNull, type Taken, taken } from '../files/conflict.ts'
import { sha256Of } from '../files/content.ts'
import {
  copyFile,
  type FileVersion,
  isSameObject,
  moveCopy,
  prepareDeletion,
  timeResolution,
} from '../files/copying.ts'
import { type Earlier, type JobRun, keepsAllOrNone, passingBytes, type Tally, writable } from './job-run.ts'

interface FileTransfer {
  from: ReadLocation
  entry: CheckedEntry
  to: WriteLocation
  /** The entry at the target, as it was when its folder was listed; null if there was none. */
  existing: CheckedEntry | null
  earlier: Earlier | null
}

/** @throws ALREADY_EXISTS, COPY_ONLY, PRECONDITION_FAILED if the source changes meanwhile, and as the back ends */
export async function transferFile(run: JobRun, tally: Tally, listed: FileTransfer): Promise<void> {
  const transfer = await withExactTimes(listed, run.signal)
  if (await finishMove(run, transfer)) {
    tally.moved.push({ from: transfer.from, to: transfer.to, doneAt: performance.now() })
    return tally.add(transfer.entry.size)
  }
  const decision = await decisionOf(run, transfer)
  if (decision !== 'REPLACE' && (await carryOut(run, tally, transfer, decision)) !== taken) return
  // The folder may have been listed long ago, so look at the file itself before replacing it.
  const current = { ...transfer, existing: await statOrNull(transfer.to, run.signal) }
  const carriedOut = await carryOut(run, tally, current, await decisionOf(run, current))
  if (carriedOut === taken) throw nameTaken(transfer.to.path)
}

/** Looks at files whose listings have coarser times, because a decision and a deletion compare times. */
async function withExactTimes(transfer: FileTransfer, signal: AbortSignal): Promise<FileTransfer> {
  const { from, entry, to, existing } = transfer
  const [exactEntry, exactExisting] = await Promise.all([
    from.traits.listedTimePrecision === undefined ? entry : from.stat(signal),
    existing === null || to.traits.listedTimePrecision === undefined ? existing : statOrNull(to, signal),
  ])
  return { ...transfer, entry: exactEntry, existing: exactExisting }
}

/** Moves a file that has both names, because a server was killed while its back end moved it. */
async function finishMove(run: JobRun, { from, entry, to, existing, earlier }: FileTransfer): Promise<boolean> {
  if (run.job.kind !== 'MOVE' || run.job.dryRun || keepsAllOrNone(run.job)) return false
  if (!earlier || !existing || !isSameObject(entry, existing)) return false
  return (await writable(from).moveTo(to, run.signal, { overwrite: true })) !== null
}

/** Returns `taken` if the file at the target is not the one that was decided about. */
async function carryOut(
  run: JobRun,
  tally: Tally,
  { from, entry, to, existing }: FileTransfer,
  decision: Decision,
): Promise<Taken | undefined> {
  const { job, signal } = run
  if (decision === 'TAKEN') throw nameTaken(to.path)
  if (decision === 'SKIP') {
    tally.skipped += 1
    return undefined
  }
  // A move deletes its source only after a copy in the same run, because only that copy shows whether both are one file.
  const isCopied = decision === 'DONE' && job.kind !== 'MOVE'
  if (!isCopied && !job.dryRun) {
    const isNewTime = job.kind === 'MOVE' && (await prepareDeletion(entry, from.path, existing, signal))
    const options = { overwrite: existing !== null, signal, isNewTime, onBytes: passingBytes(run, from, to) }
    if (job.kind === 'MOVE' && !keepsAllOrNone(job)) {
      if ((await moveCopy(writable(from), entry, to, options)) === taken) return taken
      tally.moved.push({ from, to, doneAt: performance.now() })
    } else {
      const copied = await copyFile(from, entry, to, options)
      if (copied === taken) return taken
      if (keepsAllOrNone(job)) tally.copied.push(copiedEntry(from, to, copied))
    }
  } else if (keepsAllOrNone(job) && existing) tally.copied.push(copiedEntry(from, to, { seen: entry, copy: existing }))
  tally.add(entry.size)
  return undefined
}

async function decisionOf({ job, signal }: JobRun, transfer: FileTransfer): Promise<Decision> {
  const { entry, to, existing, earlier } = transfer
  const policy = job.kind === 'SYNC' ? 'SYNC' : job.conflict
  const isKept = keepsTime(to, entry)
  const decision = decide(policy, entry, existing, { isKept, earlier })
  if (decision !== 'DONE' || job.kind !== 'MOVE' || job.dryRun) return decision
  // A move writes the file again, so it must not be another one that only looks like the copy.
  if (sameChecksum(entry, existing ?? entry) ?? (await hasSameContent(transfer, signal))) return decision
  return decide(policy, entry, existing, { isKept, earlier: null })
}

async function hasSameContent({ from, to }: FileTransfer, signal: AbortSignal): Promise<boolean> {
  const digest = async (file: ReadLocation) => sha256Of((await file.read(signal)).body)
  const [source, target] = await Promise.all([digest(from), digest(to)])
  return source.equals(target)
}

// Decides what happens to a file whose name exists at the target.

/** DONE: an interrupted run of the job has probably made the copy. */
type Decision = 'WRITE' | 'REPLACE' | 'SKIP' | 'DONE' | 'TAKEN'

interface CopyTimes {
  /** Whether a copy has the modification time of its source. */
  isKept: boolean
  /** Null unless an earlier attempt of the job may have made the file at the target. */
  earlier: Earlier | null
}

/** @param existing the entry at the target; null if there is none */
function decide(
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
function sameChecksum(a: CheckedEntry, b: CheckedEntry): boolean | null {
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

// Stores a copied file as an entry of an atomic job, so that the job can undo the copy or delete its source.

export function copiedEntry(
  from: ReadLocation,
  to: WriteLocation,
  { seen, copy }: { seen: FileVersion; copy: FileVersion },
): NewJobEntry {
  return {
    state: 'COPIED',
    providerId: from.providerId,
    path: formatPath(from.path),
    targetPath: formatPath(to.path),
    depth: 0,
    isNewTarget: true,
    copied: { seen: stored(seen), copy: stored(copy) },
  }
}

/** Returns the argument of `copiedEntry`. */
export function versionsOf(copied: CopiedVersions | null): { seen: FileVersion; copy: FileVersion } {
  if (!copied) throw new Error('This entry of a job is not a copied file')
  return { seen: version(copied.seen), copy: version(copied.copy) }
}

function stored({ size, etag, modifiedAt, fileId }: FileVersion): StoredVersion {
  return { size, etag, modifiedAt: modifiedAt?.getTime() ?? null, fileId }
}

function version({ modifiedAt, ...rest }: StoredVersion): FileVersion {
  return { ...rest, modifiedAt: modifiedAt === null ? null : new Date(modifiedAt) }
}
