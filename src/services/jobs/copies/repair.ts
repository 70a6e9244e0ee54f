/** Carries out the repairs that a KEEP_COPIES has planned. An interrupted one is recognized by the content at its path. */
import { formatPath } from '../../../auth/path.ts'
import { finishEntries, type JobEntry, type NewJobEntry } from '../../../db/jobs/entries.ts'
import { failRestorations } from '../../../db/jobs/failures.ts'
import { markAllStarted, shallowestListed } from '../../../db/jobs/restore-steps.ts'
import { findKept, type KeptPath } from '../../../db/kept-files.ts'
import type { CopyFinding } from '../../../db/schema.ts'
import { AppError } from '../../../errors.ts'
import { allDone } from '../../../lib/limiter.ts'
import { isSameVersion } from '../../../storage/content-tracker.ts'
import type { ReadLocation } from '../../../storage/read-location.ts'
import type { CheckedEntry } from '../../../storage/validate-entry.ts'
import type { WriteLocation } from '../../../storage/write-location.ts'
import { statOrNull, taken } from '../../files/conflict.ts'
import { copyFile } from '../../files/copying.ts'
import { fullReport, type JobRun, passingBytes, sourceAt, type Tally, withTally, writable } from '../job-run.ts'
import { readWhole } from '../reading.ts'
import { keepsVersions } from '../remove.ts'
import { checkOf, findingOf, keepingOf, locationsAt, providersOf } from './file-work.ts'
import { keptPathOf } from './keep.ts'
import { requireUnchanged } from './keep-file.ts'

/** The number of repairs between two commits. */
const repairsAtOnce = 20

/** The number of missing files from which on they may be those of a disk that is not mounted. */
const manyMissing = 20

/** @throws LeaseLost, the reason of the signal or of the end of the turn */
export async function carryOutRepairs(run: JobRun): Promise<void> {
  await failIfMostAreMissing(run)
  for (;;) {
    const entries = await shallowestListed(run.db, run.job.id, repairsAtOnce)
    if (entries.length === 0) return
    const ids = entries.map(({ id }) => id)
    await markAllStarted(run.db, run.job.id, ids)
    await withTally(run, async tally => {
      const done: string[] = []
      const overtaken: NewJobEntry[] = []
      await allDone(
        entries.map(async entry => {
          const isDone = await tally.attempt(run, entry, isRetry =>
            repair(run, tally, entry, entry.isStarted || isRetry),
          )
          if (isDone === undefined) return
          const change = isDone ? null : overtakenBy(run, tally, entry)
          // Repairs stay for the report.
          const hasRoom = run.progress.room > 0
          if (hasRoom && change) overtaken.push(change)
          else if (hasRoom) done.push(entry.id)
          run.progress.room -= 1
        }),
      )
      await finishEntries(run.db, run, ids, { kept: done, found: overtaken, done: tally })
    })
    run.signal.throwIfAborted()
    run.turn.throwIfAborted()
  }
}

/** Most files of a folder are missing when its disk is not mounted, or when somebody has deleted them. A retry restores them. */
async function failIfMostAreMissing(run: JobRun): Promise<void> {
  const { db, keptFolders, progress, sources } = run
  const [original] = sources
  if (!original) return
  const { restoresMost = [] } = keepingOf(run)
  for (const [source, { path }] of sources.entries()) {
    if (restoresMost.includes(source)) continue
    const side = { source, keptFolders: source === 0 ? keptFolders : keptFolders.slice(source - 1, source) }
    const message = `Most files of "${formatPath(path)}" are missing, so nothing was restored: mount its disk, or retry the job to restore them.`
    const { room, saysFull } = progress
    const full = saysFull ? null : fullReport(original)
    const many = { least: manyMissing, reason: 'PRECONDITION_FAILED', message, room, full } as const
    const failed = await failRestorations(db, run, side, many)
    if (failed === null) continue
    progress.hasFailed = true
    progress.room -= failed
    progress.saysFull ||= progress.room < 0
  }
}

/** Counts a file that somebody has written or deleted since, and returns the entry that says so in the report. */
function overtakenBy(run: JobRun, tally: Tally, { id: _id, ...entry }: JobEntry): NewJobEntry {
  const { finding } = entry
  if (!finding) return entry
  const counts = checkOf(run, tally, finding.source)
  counts[finding.kind === 'MISSING' ? 'missing' : 'damaged'] -= 1
  counts.changed += 1
  counts.settled += 1
  return { ...entry, state: 'KEPT', finding: findingOf('CHANGED', finding.source) }
}

/** Returns false if somebody has written or deleted the file meanwhile, so that there is nothing to repair. */
async function repair(run: JobRun, tally: Tally, entry: JobEntry, isRepeated: boolean): Promise<boolean> {
  const { finding } = entry
  if (!finding || finding.from === null || finding.sha256 === null)
    throw new Error('This entry of the job is no repair')
  const sha256 = Buffer.from(finding.sha256, 'hex')
  const path = keptPathOf(run, sourceAt(run, entry))
  const locations = locationsAt(run, path)
  const [from, to] = [locations[finding.from], locations[finding.source]]
  if (!from || !to) throw new Error('This job has no such source')
  return run.limits.run(providersOf(run), async () => {
    run.signal.throwIfAborted()
    const existing = await statOrNull(to, run.signal)
    // Somebody may have deleted it through this server since.
    const isWanted = finding.source !== 0 || !(await isDeleted(run, path))
    const isSeen = existing ? isPlanned(existing, finding) : finding.kind === 'MISSING' && isWanted
    if (!isSeen) {
      const isDone = isRepeated && existing?.kind === 'file' && (await hasContent(run, to, sha256))
      if (isDone) checkOf(run, tally, finding.source).restored += 1
      return isDone
    }
    const target = writable(to)
    if (existing && !(await keepsVersions(target))) {
      throw new AppError('DAMAGED', `"${entry.path}" is damaged, and stays: its storage keeps no versions any more.`)
    }
    const copied = await restore(run, { from, to: target, existing, sha256 })
    if (!copied) return false
    checkOf(run, tally, finding.source).restored += 1
    tally.add(copied.size)
    return true
  })
}

async function isDeleted({ db, keptFolders }: JobRun, { folder, name }: KeptPath): Promise<boolean> {
  return (await findKept(db, keptFolders, folder, [name])).some(row => row.isDeleted)
}

/** Returns whether the file is the one that the repair was planned for. */
function isPlanned(existing: CheckedEntry, { seen }: CopyFinding): boolean {
  if (existing.kind !== 'file' || !seen) return false
  const modifiedAt = seen.modifiedAt === null ? null : new Date(seen.modifiedAt)
  return isSameVersion({ ...seen, modifiedAt }, existing)
}

async function hasContent(run: JobRun, location: ReadLocation, sha256: Buffer): Promise<boolean> {
  const read = await readWhole(run, location)
  return read?.sha256.equals(sha256) === true
}

interface Restoration {
  from: ReadLocation
  to: WriteLocation
  /** The damaged file as it was seen; null if there was none. */
  existing: CheckedEntry | null
  /** The SHA-256 of the good content. */
  sha256: Buffer
}

/** Writes the good content. The replaced content becomes a version. Returns null if a file has appeared meanwhile. */
async function restore(run: JobRun, { from, to, existing, sha256 }: Restoration): Promise<CheckedEntry | null> {
  const { signal } = run
  const good = await from.stat(signal)
  const onBytes = passingBytes(run, from, to)
  const verify = async (passed: Buffer | null) => {
    if (!passed?.equals(sha256)) {
      throw new AppError('DAMAGED', `"/${from.path}" no longer has the good content, so nothing was restored from it.`)
    }
    await requireUnchanged(run, { location: to, file: existing })
  }
  const copied = await copyFile(from, good, to, { overwrite: existing !== null, signal, onBytes, verify })
  return copied === taken ? null : copied.copy
}
