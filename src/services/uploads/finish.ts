/** Makes the file of a complete upload visible. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { formatPath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { isMissing, isTaken, statOrNull } from '../files/conflict.ts'
import { uploadUnderWay } from '../files/upload.ts'
import { type ActiveUpload, complete, missingUpload, openState, pendingBytes, readPending } from './active-upload.ts'

/** Milliseconds by which the clocks of a back end and of the database may differ. */
const clockDifference = 60_000
/** Milliseconds: the coarsest time that a back end may keep. */
const timeResolution = 2000

/**
 * Makes the file visible. Its last bytes are acknowledged only afterwards: a client that resumes after a failure sends them
 * again, which repeats this step.
 * @param parts the parts of the file, if the back end keeps them
 * @throws ALREADY_EXISTS, QUOTA_EXCEEDED, ...
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
  await audit.recorded(viewer, 'UPLOAD', facts, () => makeVisible(upload, gathered, work, parts))
}

async function makeVisible(
  upload: ActiveUpload,
  gathered: readonly Buffer[],
  work: AbortSignal,
  parts: readonly NativePart[] | null,
): Promise<void> {
  const { lease, location, reservations } = upload
  const { conflict, finishing: mayBeDone, size } = lease.record
  using reservation = conflict === 'REPLACE' ? null : reservations.take(location.providerId, location.path)
  if (conflict !== 'REPLACE' && !reservation) throw uploadUnderWay(location.path)
  const stored = { uploadId: lease.record.id, size: size ?? 0 }
  await location.store(stored, () => publishOnce(upload, gathered, work, { parts, mayBeDone }))
  const done = size ?? 0
  await lease.save({ received: done, appended: done, sealedState: null, storedPath: location.path })
}

/** Makes the file visible, unless an earlier attempt has done so. */
async function publishOnce(
  upload: ActiveUpload,
  gathered: readonly Buffer[],
  work: AbortSignal,
  { parts, mayBeDone }: { parts: readonly NativePart[] | null; mayBeDone: boolean },
): Promise<{ size: number | null }> {
  const { lease } = upload
  if (!mayBeDone) await lease.save({ finishing: true })
  try {
    return await publish(upload, gathered, work, parts)
  } catch (error) {
    const isDone = mayBeDone && (isMissing(error) || isTaken(error)) && (await isStored(upload, gathered, work))
    if (!isDone) {
      // A client error means that nothing was stored, unless an earlier attempt is still running.
      const isKnown = error instanceof AppError && error.status < 500 && !work.aborted
      if (isKnown && !mayBeDone) await lease.save({ finishing: false })
      throw error
    }
    await abortLeftovers(upload)
    return { size: lease.record.size }
  }
}

async function publish(
  upload: ActiveUpload,
  gathered: readonly Buffer[],
  work: AbortSignal,
  parts: readonly NativePart[] | null,
): Promise<CheckedEntry> {
  const { db, lease, location } = upload
  const { id, sealedState, size, mimeType, modifiedAt, conflict } = lease.record
  if (size === null) throw new AppError('INTERNAL')
  const overwrite = conflict === 'REPLACE'
  if (parts) return await completeNativeParts(upload, parts, work, { size, overwrite })
  if (sealedState) return await complete(upload, gathered, work, overwrite)
  const body = Readable.from(readPending(db, id, 0, gathered), { objectMode: false })
  const facts = { ...(mimeType !== null && { mimeType }), ...(modifiedAt !== null && { modifiedAt }) }
  return await location.write(work, body, { size, overwrite, ...facts, isReserved: true })
}

/**
 * Returns whether an earlier attempt with an unknown outcome created the file: it has the right size and ends with the last
 * bytes. If no bytes were left to send, its modification time decides.
 */
async function isStored(upload: ActiveUpload, gathered: readonly Buffer[], signal: AbortSignal): Promise<boolean> {
  const { lease, location } = upload
  const { size } = lease.record
  const entry = await statOrNull(location, signal)
  if (entry?.kind !== 'file' || entry.size !== size) return false
  const { bytes, offset, size: length } = pendingBytes(upload, gathered)
  if (length > 0) {
    const { body } = await location.read(signal, { range: { offset, length } })
    const [stored, sent] = await Promise.all([digestOf(body), digestOf(bytes)])
    return stored === sent
  }
  return size === 0 || hasTimeOf(upload, entry)
}

/** Returns whether a file has the time that the upload gives to it or, without one, is not older than the upload. */
function hasTimeOf({ lease, location }: ActiveUpload, { modifiedAt }: CheckedEntry): boolean {
  const time = modifiedAt?.getTime() ?? 0
  const given = location.traits.keepsModifiedAt ? lease.record.modifiedAt : null
  if (given) return Math.abs(time - given.getTime()) <= timeResolution
  return time >= lease.record.createdAt.getTime() - clockDifference
}

async function digestOf(bytes: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of bytes) hash.update(chunk)
  return hash.digest('hex')
}

/** Deletes parts that a server left behind if it was killed just after the file became visible. */
async function abortLeftovers({ lease, location, secrets }: ActiveUpload): Promise<void> {
  if (!lease.record.sealedState) return
  // The back end deletes leftovers by itself later.
  await location.resumable?.abort(openState(secrets, lease.record)).catch(() => {})
}

/** A part as the back end names it. */
export interface NativePart {
  number: number
  tag: string
}

/** Makes the file of these parts visible. Safe to repeat. @throws PART_MISSING, NOT_FOUND */
export async function completeNativeParts(
  { lease, secrets, location }: ActiveUpload,
  parts: readonly NativePart[],
  work: AbortSignal,
  options: { size: number; overwrite: boolean },
): Promise<CheckedEntry> {
  const { resumable } = location
  if (!resumable) throw missingUpload()
  try {
    return await resumable.completeParts(work, openState(secrets, lease.record), parts, options)
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== 'PRECONDITION_FAILED') throw error
    throw new AppError('PART_MISSING', undefined, { cause: error })
  }
}
