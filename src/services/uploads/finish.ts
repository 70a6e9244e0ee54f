import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { formatPath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { isMissing, isTaken, statOrNull } from '../files/conflict.ts'
import { uploadUnderWay } from '../files/upload.ts'
import { type ActiveUpload, all, complete, open, restOf } from './active-upload.ts'

/** Milliseconds by which the clocks of a back end and of the database may differ. */
const clockDifference = 60_000

/**
 * Makes the file visible. Until that is done its last bytes are not acknowledged: a client that goes on, after a fault or
 * a killed server, sends them again and so asks for it anew.
 * @throws ALREADY_EXISTS, QUOTA_EXCEEDED, ...
 */
export async function finish(upload: ActiveUpload, gathered: readonly Buffer[], work: AbortSignal): Promise<void> {
  const { audit, lease, location, viewer } = upload
  const { conflict, providerId, size } = lease.record
  const facts = { location: { providerId, path: formatPath(location.path) }, bytes: size, details: { conflict } }
  await audit.recorded(viewer, 'UPLOAD', facts, () => makeVisible(upload, gathered, work))
}

async function makeVisible(upload: ActiveUpload, gathered: readonly Buffer[], work: AbortSignal): Promise<void> {
  const { lease, location, reservations } = upload
  const { conflict, finishing: mayBeDone, size } = lease.record
  using reservation = conflict === 'REPLACE' ? null : reservations.take(location.providerId, location.path)
  if (conflict !== 'REPLACE' && !reservation) throw uploadUnderWay(location.path)
  if (!mayBeDone) await lease.save({ finishing: true })
  try {
    await publish(upload, gathered, work)
  } catch (error) {
    const isDone = mayBeDone && (isMissing(error) || isTaken(error)) && (await isThere(upload, gathered, work))
    if (!isDone) {
      // What is no fault of a server is known not to have happened, unless an earlier attempt is still at it.
      const isKnown = error instanceof AppError && error.status < 500 && !work.aborted
      if (isKnown && !mayBeDone) await lease.save({ finishing: false })
      throw error
    }
    await freeRest(upload)
  }
  const done = size ?? 0
  await lease.save({ received: done, appended: done, sealedState: null, storedPath: location.path })
}

async function publish(upload: ActiveUpload, gathered: readonly Buffer[], work: AbortSignal): Promise<CheckedEntry> {
  const { db, lease, location } = upload
  const { id, sealedState, size, mimeType, conflict } = lease.record
  if (size === null) throw new AppError('INTERNAL')
  const overwrite = conflict === 'REPLACE'
  if (sealedState) return await complete(upload, gathered, work, overwrite)
  const body = Readable.from(all(db, id, 0, gathered), { objectMode: false })
  return await location.write(work, body, { size, overwrite, ...(mimeType !== null && { mimeType }) })
}

/**
 * Whether the file is there after an attempt whose end nobody saw: one of its size that ends with the bytes that were to be
 * sent last. Where none were left to send, by its time.
 */
async function isThere(upload: ActiveUpload, gathered: readonly Buffer[], signal: AbortSignal): Promise<boolean> {
  const { lease, location } = upload
  const { size, createdAt } = lease.record
  const entry = await statOrNull(location, signal)
  if (entry?.kind !== 'file' || entry.size !== size) return false
  const { bytes, offset, size: length } = restOf(upload, gathered)
  if (length > 0) {
    const { body } = await location.read(signal, { range: { offset, length } })
    const [there, sent] = await Promise.all([digestOf(body), digestOf(bytes)])
    return there === sent
  }
  return size === 0 || (entry.modifiedAt?.getTime() ?? 0) >= createdAt.getTime() - clockDifference
}

async function digestOf(bytes: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of bytes) hash.update(chunk)
  return hash.digest('hex')
}

/** A server that was killed just after the file was there may have left what it was made of. */
async function freeRest({ lease, location, secrets }: ActiveUpload): Promise<void> {
  if (!lease.record.sealedState) return
  // The back end clears what stays by itself, later.
  await location.resumable?.abort(open(secrets, lease.record)).catch(() => {})
}
