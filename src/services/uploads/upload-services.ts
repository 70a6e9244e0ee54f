/** The services that uploads over several requests share. */
import type { Secrets } from '../../auth/secrets.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import type { Storage } from '../../storage/index.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import type { Audit } from '../audit/index.ts'
import type { Reservations } from '../files/conflict.ts'
import type { ActiveUpload } from './active-upload.ts'
import { createLeases, type Lease } from './lease.ts'
import { maxFileBytes, maxHeldBytes } from './limits.ts'

export interface UploadOptions {
  db: Database
  secrets: Secrets
  storage: Storage
  reservations: Reservations
  audit: Audit
  /** Bytes. */
  maxUploadBytes: number
  onError: (error: unknown) => void
}

export type UploadServices = ReturnType<typeof createUploadServices>

export function createUploadServices(options: UploadOptions) {
  const { db, secrets, reservations, audit } = options

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
      viewer,
      lease,
      location,
      maxBytes: maxBytesAt(location),
    }),
  }
}
