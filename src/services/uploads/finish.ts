/** Makes the file of a complete upload visible. */
import { Readable } from 'node:stream'
import { formatPath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { Recording } from '../audit/index.ts'
import { isMissing, isTaken, nameTaken, taken } from '../files/conflict.ts'
import { copyFile } from '../files/copying.ts'
import { uploadUnderWay } from '../files/upload.ts'
import { ScanRefusal, type UploadScan } from '../scans/index.ts'
import { type ActiveUpload, complete, missingUpload, openState, readPending } from './active-upload.ts'
import { isStored } from './outcome.ts'
import { abortAtBackEnd } from './sweep.ts'

/**
 * Makes the file visible. Its last bytes are acknowledged only afterwards: a client that resumes after a failure sends them
 * again, which repeats this step.
 * @param parts the parts of the file, if the back end keeps them
 * @throws ALREADY_EXISTS, QUOTA_EXCEEDED, INFECTED, ...
 */
export async function finish(
  upload: ActiveUpload,
  gathered: readonly Buffer[],
  work: AbortSignal,
  parts: readonly NativePart[] | null = null,
): Promise<void> {
  const { audit, lease, location, viewer } = upload
  const { conflict, providerId, size } = lease.record
  const facts = { location: { providerId, path: formatPath(location.path) }, bytes: size, details: { conflict } }
  await audit.recorded(viewer, 'UPLOAD', facts, async recording => {
    using scan = await upload.scans.open(viewer, work, recording, reason => lease.save({ unscanned: reason }))
    await makeVisible(upload, gathered, work, { parts, scan, recording }).catch(async error => {
      // Until the row is deleted, a client that tries again gets the same error.
      if (error instanceof ScanRefusal && (await free(upload))) await upload.lease.delete()
      throw error
    })
  })
}

interface FinishOptions {
  parts: readonly NativePart[] | null
  scan: UploadScan | null
  recording: Pick<Recording, 'add'>
}

async function makeVisible(
  upload: ActiveUpload,
  gathered: readonly Buffer[],
  work: AbortSignal,
  options: FinishOptions,
): Promise<void> {
  const { lease, location, reservations } = upload
  const { conflict, finishing: mayBeDone, size } = lease.record
  using reservation = conflict === 'REPLACE' ? null : reservations.take(location.providerId, location.path)
  if (conflict !== 'REPLACE' && !reservation) throw uploadUnderWay(location.path)
  const stored = { uploadId: lease.record.id, size: size ?? 0 }
  await location.store(stored, () => publishOnce(upload, gathered, work, { ...options, mayBeDone }))
  const done = size ?? 0
  await lease.save({ received: done, appended: done, sealedState: null, storedPath: location.path })
}

/** Makes the file visible, unless an earlier attempt has done so. */
async function publishOnce(
  upload: ActiveUpload,
  gathered: readonly Buffer[],
  work: AbortSignal,
  { mayBeDone, ...options }: FinishOptions & { mayBeDone: boolean },
): Promise<{ size: number | null }> {
  const { lease, location } = upload
  if (!mayBeDone) await lease.save({ finishing: true })
  try {
    return await publish(upload, gathered, work, options)
  } catch (error) {
    // A refusal is never the sign that an earlier attempt has stored the file.
    const maySayDone = mayBeDone && !(error instanceof ScanRefusal) && (isMissing(error) || isTaken(error))
    const isDone = maySayDone && (await isStored(upload, location, gathered, work))
    if (!isDone) {
      // A client error means that nothing was stored, unless an earlier attempt is still running.
      const isKnown = error instanceof AppError && error.status < 500 && !work.aborted
      if (isKnown && !mayBeDone) await lease.save({ finishing: false })
      throw error
    }
    // A killed server may have stored the file without a scan, and have left parts.
    const { unscanned } = lease.record
    if (unscanned) options.recording.add({ details: { scan: unscanned } })
    await free(upload)
    return { size: lease.record.size }
  }
}

async function publish(
  upload: ActiveUpload,
  gathered: readonly Buffer[],
  work: AbortSignal,
  { parts, scan }: Pick<FinishOptions, 'parts' | 'scan'>,
): Promise<CheckedEntry> {
  const { db, lease, location } = upload
  const { id, sealedState, size, mimeType, modifiedAt, conflict, isScanned } = lease.record
  if (size === null) throw new AppError('INTERNAL')
  const overwrite = conflict === 'REPLACE'
  if (sealedState && isScanned) return await publishScanned(upload, gathered, work, { parts, scan, size })
  if (sealedState) {
    if (scan) throw new ScanRefusal('NOT_FOUND', 'This workspace has begun to scan uploads: begin a new one.')
    return await completeAtBackEnd(upload, gathered, work, { parts, size, overwrite })
  }
  const pending = Readable.from(readPending(db, id, 0, gathered), { objectMode: false })
  const body = scan ? scan.through(pending) : pending
  const facts = { ...(mimeType !== null && { mimeType }), ...(modifiedAt !== null && { modifiedAt }) }
  return await location.write(work, body, { size, overwrite, ...facts, isReserved: true })
}

/** A part as the back end names it. */
export interface NativePart {
  number: number
  tag: string
}

/** Completes the file of the upload where the back end keeps it. Safe to repeat. @throws PART_MISSING, NOT_FOUND */
async function completeAtBackEnd(
  upload: ActiveUpload,
  gathered: readonly Buffer[],
  work: AbortSignal,
  { parts, ...options }: { parts: readonly NativePart[] | null; size: number; overwrite: boolean },
): Promise<CheckedEntry> {
  if (!parts) return await complete(upload, gathered, work, options.overwrite)
  const { lease, secrets, kept } = upload
  const { resumable } = kept
  if (!resumable) throw missingUpload()
  try {
    return await resumable.completeParts(work, openState(secrets, lease.record), parts, options)
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== 'PRECONDITION_FAILED') throw error
    throw new AppError('PART_MISSING', undefined, { cause: error })
  }
}

/**
 * Completes the file in the reserved folder, scans it there, and moves it to its path. After an interruption it may be complete, so the
 * scan is repeated, or moved, which the caller finds out.
 */
async function publishScanned(
  upload: ActiveUpload,
  gathered: readonly Buffer[],
  work: AbortSignal,
  { parts, scan, size }: Pick<FinishOptions, 'parts' | 'scan'> & { size: number },
): Promise<CheckedEntry> {
  const { lease, location, kept } = upload
  await completeAtBackEnd(upload, gathered, work, { parts, size, overwrite: true }).catch(async error => {
    const isComplete = (isMissing(error) || isTaken(error)) && (await isStored(upload, kept, gathered, work))
    if (!isComplete) throw error
  })
  const { body, entry } = await kept.read(work)
  await (scan ? scan.read(body) : body.destroy())
  if (scan?.isClean && lease.record.unscanned) await lease.save({ unscanned: null })
  // The caller counts the file.
  const [source, destination] = [kept.uncounted, location.uncounted]
  const overwrite = lease.record.conflict === 'REPLACE'
  const moved = await source.moveTo(destination, work, { overwrite, seen: entry })
  if (moved) return moved
  const copied = await copyFile(source, entry, destination, { signal: work, overwrite })
  if (copied === taken) throw nameTaken(location.path)
  await source.delete(work)
  return copied.copy
}

/** Frees what the back end keeps of the upload. If this fails, the sweep does it later. */
async function free(upload: ActiveUpload): Promise<boolean> {
  return abortAtBackEnd(upload, upload.lease.record).then(
    () => true,
    () => false,
  )
}
