/** An upload that one request works on, the services that its steps need, and its bytes at the back end. */
import { SecretMismatch, type Secrets } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { readChunks } from '../../db/uploads/leases.ts'
import type { UploadRecord } from '../../db/uploads/record.ts'
import { AppError } from '../../errors.ts'
import type { Storage } from '../../storage/index.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import type { Audit } from '../audit/index.ts'
import type { Reservations } from '../files/conflict.ts'
import type { UploadScans } from '../scans/index.ts'
import { createLeases, type Lease } from './lease.ts'
import { maxFileBytes, maxHeldBytes } from './limits.ts'

/** An upload that one request works on, with everything that its steps need. */
export interface ActiveUpload {
  db: Database
  secrets: Secrets
  reservations: Reservations
  audit: Audit
  viewer: Viewer
  lease: Lease
  location: WriteLocation
  /** Where the back end keeps the file until it is complete and scanned; `location` for an upload that is not scanned. */
  kept: WriteLocation
  storage: Storage
  scans: UploadScans
  /** Bytes. */
  maxBytes: number
}

/** Appends the stored chunks and the gathered bytes at the back end. The first call begins the upload there. */
export async function append(upload: ActiveUpload, gathered: readonly Buffer[], work: AbortSignal): Promise<void> {
  const { lease, secrets, kept } = upload
  const { resumable } = kept
  if (!resumable) throw missingUpload()
  if (!lease.record.sealedState) await begin(upload, work)
  const { bytes, ...options } = pendingBytes(upload, gathered)
  const state = await resumable.append(work, openState(secrets, lease.record), bytes, options)
  const appended = options.offset + options.size
  await lease.save({ appended, received: appended, sealedState: sealState(secrets, lease.record, state) })
}

/** Begins the upload at the back end. */
export async function begin({ lease, secrets, kept }: ActiveUpload, work: AbortSignal): Promise<void> {
  const { size, mimeType, modifiedAt } = lease.record
  const options = {
    ...(size !== null && { size }),
    ...(mimeType !== null && { mimeType }),
    ...(modifiedAt !== null && { modifiedAt }),
  }
  await kept.resumable?.begin(work, options, async state => {
    await lease.save({ sealedState: sealState(secrets, lease.record, state) })
  })
}

/** Appends the rest, which completes the file at the back end. Safe to repeat. @throws NOT_FOUND */
export async function complete(
  upload: ActiveUpload,
  gathered: readonly Buffer[],
  work: AbortSignal,
  overwrite: boolean,
): Promise<CheckedEntry> {
  const { lease, secrets, kept } = upload
  const { resumable } = kept
  if (!resumable) throw missingUpload()
  const { bytes, ...options } = pendingBytes(upload, gathered)
  return await resumable.complete(work, openState(secrets, lease.record), bytes, { ...options, overwrite })
}

/** Returns the bytes that the back end does not have yet. */
export function pendingBytes({ db, lease }: ActiveUpload, gathered: readonly Buffer[]) {
  const { id, appended, received } = lease.record
  const size = received - appended + bytesOf(gathered)
  return { bytes: readPending(db, id, appended, gathered), offset: appended, size }
}

/** Yields the chunks stored in the database, then the gathered bytes. */
export async function* readPending(
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

/** Encrypts a back end's upload state, because at some back ends it permits writing. */
function sealState(secrets: Secrets, { id }: UploadRecord, state: string): Buffer {
  return secrets.seal('upload', id, state)
}

/** @throws NOT_FOUND if it was sealed under another secret */
export function openState(secrets: Secrets, { id, sealedState }: Pick<UploadRecord, 'id' | 'sealedState'>): string {
  try {
    return secrets.open('upload', id, sealedState ?? Buffer.alloc(0))
  } catch (error) {
    if (!(error instanceof SecretMismatch)) throw error
    throw missingUpload(error)
  }
}

export function missingUpload(cause?: unknown): AppError {
  return new AppError('NOT_FOUND', 'The back end no longer has this upload: begin a new one.', { cause })
}

export interface UploadOptions {
  db: Database
  secrets: Secrets
  storage: Storage
  reservations: Reservations
  audit: Audit
  scans: UploadScans
  /** Bytes. */
  maxUploadBytes: number
  onError: (error: unknown) => void
}

export type UploadServices = ReturnType<typeof createUploadServices>

export function createUploadServices(options: UploadOptions) {
  const { db, secrets, storage, reservations, audit, scans } = options

  function maxBytesAt({ traits, resumable }: WriteLocation): number {
    const here = resumable ? maxFileBytes(resumable) : maxHeldBytes
    return Math.min(options.maxUploadBytes, traits.maxFileSize ?? Number.MAX_SAFE_INTEGER, here)
  }

  return {
    ...options,
    leases: createLeases(db),
    maxBytesAt,
    activate: (viewer: Viewer, lease: Lease, location: WriteLocation): ActiveUpload => ({
      db,
      secrets,
      reservations,
      audit,
      storage,
      scans,
      viewer,
      lease,
      location,
      kept: lease.record.isScanned ? location.inTrash(lease.record.id) : location,
      maxBytes: maxBytesAt(location),
    }),
  }
}
