/** Copies or moves one file of a job. */
import { createHash } from 'node:crypto'
import { formatPath } from '../../auth/path.ts'
import type { JobConflict } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { fault } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { nameTaken, taken } from '../files/conflict.ts'
import type { CopiedFile } from '../files/copied.ts'
import { copyFile } from '../files/copying.ts'
import { deleteFile, prepareDeletion } from '../files/moving.ts'
import { type JobRun, type Tally, writable } from './job-run.ts'
import { decide, sameChecksum } from './policy.ts'

export interface FileTransfer {
  from: ReadLocation
  entry: CheckedEntry
  to: WriteLocation
  /** The entry at the target; null if there is none. */
  existing: CheckedEntry | null
  /** An interrupted run may have copied the file already. */
  isRepeated: boolean
}

/** @throws ALREADY_EXISTS, COPY_ONLY, PRECONDITION_FAILED if the source changes meanwhile, and as the back ends */
export async function transferFile(run: JobRun, tally: Tally, transfer: FileTransfer): Promise<void> {
  const { job, signal } = run
  const { from, entry, to, existing, isRepeated } = transfer
  const policy: JobConflict | 'SYNC' = job.kind === 'SYNC' ? 'SYNC' : job.conflict
  const decision = decide(policy, entry, existing, isRepeated ? (job.startedAt ?? job.createdAt) : null)
  if (decision === 'SKIP') {
    tally.skipped += 1
    return
  }
  if (decision === 'TAKEN') throw nameTaken(to.path)
  if (decision === 'DONE' && existing && job.kind === 'MOVE' && !job.dryRun) {
    if (!(await hasSameContent(run, transfer, existing))) throw nameTaken(to.path)
    await deleteSource(run, from, { seen: entry, copy: existing })
  }
  if (decision !== 'DONE' && !job.dryRun) {
    if (job.kind === 'MOVE') await prepareDeletion(entry, from.path, existing, signal)
    const copied = await copyFile(from, entry, to, decision === 'REPLACE', signal, run.onBytes)
    if (copied === taken) throw nameTaken(to.path)
    if (sameChecksum(copied.seen, copied.copy) === false) throw fault('another checksum than that of the source')
    if (job.kind === 'MOVE') await deleteSource(run, from, copied)
  }
  tally.files += 1
  tally.bytes += entry.size ?? 0
}

async function deleteSource({ signal }: JobRun, from: ReadLocation, copied: CopiedFile): Promise<void> {
  if (await deleteFile(writable(from), copied, signal)) return
  throw new AppError(
    'PRECONDITION_FAILED',
    `"${formatPath(from.path)}" is copied, but changed meanwhile, so it was not deleted from the source.`,
  )
}

/** A move deletes the source only if this returns true. */
async function hasSameContent(
  run: JobRun,
  { from, entry, to }: FileTransfer,
  existing: CheckedEntry,
): Promise<boolean> {
  const same = sameChecksum(entry, existing)
  if (same !== null) return same
  const [source, target] = await Promise.all([digest(from, run.signal), digest(to, run.signal)])
  return source.equals(target)
}

async function digest(file: ReadLocation, signal: AbortSignal): Promise<Buffer> {
  const { body } = await file.read(signal)
  const hash = createHash('sha256')
  for await (const chunk of body) hash.update(chunk)
  return hash.digest()
}
