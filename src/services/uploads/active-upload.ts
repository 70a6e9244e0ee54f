import type { Secrets } from '../../auth/secrets.ts'
import { SecretMismatch } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { readChunks, type UploadRecord } from '../../db/uploads.ts'
import { AppError } from '../../errors.ts'
import type { WriteLocation } from '../../storage/location.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { Audit } from '../audit/index.ts'
import type { Reservations } from '../files/conflict.ts'
import type { Lease } from './lease.ts'

/** An upload that one request works on. */
export interface ActiveUpload {
  db: Database
  secrets: Secrets
  reservations: Reservations
  audit: Audit
  viewer: Viewer
  lease: Lease
  location: WriteLocation
  /** Bytes. */
  maxBytes: number
}

/** Adds what is held here and what was gathered to what the back end has; the first time it is told of the upload. */
export async function append(upload: ActiveUpload, gathered: readonly Buffer[], work: AbortSignal): Promise<void> {
  const { lease, secrets, location } = upload
  const { resumable } = location
  if (!resumable) throw gone()
  if (!lease.record.sealedState) {
    const { size, mimeType } = lease.record
    const options = { ...(size !== null && { size }), ...(mimeType !== null && { mimeType }) }
    await resumable.begin(work, options, async state => {
      await lease.save({ sealedState: seal(secrets, lease.record, state) })
    })
  }
  const { bytes, ...options } = restOf(upload, gathered)
  const state = await resumable.append(work, open(secrets, lease.record), bytes, options)
  const appended = options.offset + options.size
  await lease.save({ appended, received: appended, sealedState: seal(secrets, lease.record, state) })
}

/** Adds the same and makes the file visible; repeated, it does no harm. @throws NOT_FOUND */
export async function complete(
  upload: ActiveUpload,
  gathered: readonly Buffer[],
  work: AbortSignal,
  overwrite: boolean,
): Promise<CheckedEntry> {
  const { lease, secrets, location } = upload
  const { resumable } = location
  if (!resumable) throw gone()
  const { bytes, ...options } = restOf(upload, gathered)
  return await resumable.complete(work, open(secrets, lease.record), bytes, { ...options, overwrite })
}

/** What the back end does not have yet. */
export function restOf({ db, lease }: ActiveUpload, gathered: readonly Buffer[]) {
  const { id, appended, received } = lease.record
  const size = received - appended + bytesOf(gathered)
  return { bytes: all(db, id, appended, gathered), offset: appended, size }
}

/** What is held here, then what was gathered. */
export async function* all(
  db: Database,
  id: string,
  position: number,
  gathered: readonly Buffer[],
): AsyncGenerator<Buffer> {
  yield* readChunks(db, id, position)
  yield* gathered
}

export function bytesOf(buffers: readonly Buffer[]): number {
  return buffers.reduce((sum, { length }) => sum + length, 0)
}

/** Sealed, as whoever has it may write at some back ends. */
function seal(secrets: Secrets, { id }: UploadRecord, state: string): Buffer {
  return secrets.seal('upload', id, state)
}

/** @throws NOT_FOUND where it was sealed under another secret */
export function open(secrets: Secrets, { id, sealedState }: UploadRecord): string {
  try {
    return secrets.open('upload', id, sealedState ?? Buffer.alloc(0))
  } catch (error) {
    if (!(error instanceof SecretMismatch)) throw error
    throw gone(error)
  }
}

function gone(cause?: unknown): AppError {
  return new AppError('NOT_FOUND', 'The back end no longer has this upload: begin a new one.', { cause })
}
