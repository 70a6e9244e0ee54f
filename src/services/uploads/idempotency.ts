/** Makes uploads safe to repeat with an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header). */
import { randomUUID } from 'node:crypto'
import { hashToken } from '../../auth/api-key.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import {
  claimUpload,
  deleteOldUploads,
  releaseUpload,
  renewUpload,
  storeUploadResponse,
} from '../../db/idempotent-uploads.ts'
import { AppError } from '../../errors.ts'
import { LeaseKeeper } from '../../lib/lease-keeper.ts'

/** Milliseconds between renewals; a third of the time after which the key of a silent server is released. */
const renewalInterval = 20_000
/** The minimum time between two sweeps, in milliseconds. */
const sweepInterval = 24 * 60 * 60 * 1000

export type Idempotency = ReturnType<typeof createIdempotency>

export function createIdempotency({ db, onError }: { db: Database; onError: (error: unknown) => void }) {
  let sweptAt = Number.NEGATIVE_INFINITY

  function sweep(): void {
    if (performance.now() - sweptAt < sweepInterval) return
    sweptAt = performance.now()
    deleteOldUploads(db).catch(onError)
  }

  return {
    /**
     * Does the work once per key and credential, and returns the same result for a day. A failure is not stored, so the
     * request can be repeated.
     * @param fingerprint identifies the request; each key belongs to one request
     * @throws IDEMPOTENCY_KEY_REUSED, REQUEST_UNDER_WAY, as `work`
     */
    async once<T extends object>(
      viewer: Viewer,
      { key, fingerprint }: { key: string; fingerprint: string },
      work: () => Promise<T>,
    ): Promise<{ response: T; isRepeated: boolean }> {
      sweep()
      const at = { credentialId: viewer.credentialId, keyHash: hashToken(key) }
      const attempt = randomUUID()
      const print = hashToken(fingerprint)
      const record = await claimUpload(db, at, { fingerprint: print, attempt })
      if (record.attempt !== attempt) {
        if (!record.fingerprint.equals(print)) throw new AppError('IDEMPOTENCY_KEY_REUSED')
        if (!record.response) throw new AppError('REQUEST_UNDER_WAY')
        return { response: record.response as T, isRepeated: true }
      }
      using _lease = new LeaseKeeper({
        interval: renewalInterval,
        renew: () => renewUpload(db, at, attempt),
        onError,
      })
      try {
        const response = await work()
        // The file is stored, so return success even if the result cannot be saved.
        await storeUploadResponse(db, at, attempt, response).catch(onError)
        return { response, isRepeated: false }
      } catch (error) {
        await releaseUpload(db, at, attempt).catch(onError)
        throw error
      }
    },
  }
}
