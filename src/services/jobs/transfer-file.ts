/** Copies or moves one file of a job. */
import { createHash } from 'node:crypto'
import { keepsTime } from '../../storage/kept-time.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { nameTaken, statOrNull, type Taken, taken } from '../files/conflict.ts'
import { copyFile } from '../files/copying.ts'
import { deleteSource, isSameObject, prepareDeletion } from '../files/moving.ts'
import { copiedEntry } from './copied-entry.ts'
import { type JobRun, keepsAllOrNone, type Tally, writable } from './job-run.ts'
import { type Decision, decide, type Earlier, sameChecksum } from './policy.ts'

export interface FileTransfer {
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
  if (await finishMove(run, transfer)) return tally.add(transfer.entry.size)
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
  const { job, signal, progress, limits } = run
  if (decision === 'TAKEN') throw nameTaken(to.path)
  if (decision === 'SKIP') {
    tally.skipped += 1
    return undefined
  }
  // A move deletes its source only after a copy of this run: only that shows whether both are one file.
  const isCopied = decision === 'DONE' && job.kind !== 'MOVE'
  if (!isCopied && !job.dryRun) {
    const isNewTime = job.kind === 'MOVE' && (await prepareDeletion(entry, from.path, existing, signal))
    const onBytes = (bytes: number) => {
      progress.onBytes(bytes)
      return limits.pass([from.providerId, to.providerId], bytes, signal)
    }
    const copied = await copyFile(from, entry, to, { overwrite: existing !== null, signal, isNewTime, onBytes })
    if (copied === taken) return taken
    if (keepsAllOrNone(job)) tally.copied.push(copiedEntry(from, to, copied))
    else if (job.kind === 'MOVE') await deleteSource(writable(from), copied, signal)
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
  const [source, target] = await Promise.all([digest(from, signal), digest(to, signal)])
  return source.equals(target)
}

async function digest(file: ReadLocation, signal: AbortSignal): Promise<Buffer> {
  const { body } = await file.read(signal)
  const hash = createHash('sha256')
  for await (const chunk of body) hash.update(chunk)
  return hash.digest()
}
