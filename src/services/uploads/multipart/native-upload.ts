/** Uploads whose back end keeps the parts: each passes through without a lease. */
import type { Grant } from '../../../auth/policy.ts'
import { listParts, recordNativePart } from '../../../db/uploads/parts.ts'
import type { UploadRecord } from '../../../db/uploads/record.ts'
import { AppError } from '../../../errors.ts'
import type { ConflictBehavior } from '../../files/conflict.ts'
import { type CheckedBody, requireFits } from '../../files/upload.ts'
import { type ActiveUpload, begin, missingUpload, openState } from '../active-upload.ts'
import { finish } from '../finish.ts'
import type { UploadServices } from '../upload-services.ts'
import { endedUpload, selectNativeParts } from './native-parts.ts'

export function createNativeUploads({ db, secrets, storage }: UploadServices) {
  return {
    /** Begins the upload at the back end, and deletes it if that fails. @throws as `ResumableLocation.begin` */
    async begin(upload: ActiveUpload, requestSignal: AbortSignal): Promise<void> {
      const { lease, location } = upload
      try {
        await storage.activeGrants.run([location.grant], requestSignal, signal => begin(upload, signal))
      } catch (error) {
        await lease.delete()
        throw error
      }
    },

    /** Stores a part, and returns the MD5 of its bytes in hex. @throws INVALID_INPUT without a size, NOT_FOUND */
    async put(
      granted: Grant<'write'>,
      { id, sealedState }: UploadRecord,
      { number, size, checked }: { number: number; size: number | undefined; checked: CheckedBody },
      signal: AbortSignal,
    ): Promise<string> {
      const { resumable } = await storage.writeAt(granted)
      if (!resumable || resumable.minPartSize === null) throw missingUpload()
      if (size === undefined) throw new AppError('INVALID_INPUT', 'Send the length of the part in Content-Length.')
      const state = openState(secrets, { id, sealedState })
      const tag = await resumable.putPart(signal, state, checked.body, { number, size })
      const md5 = checked.hashes().get('md5') ?? ''
      if (await recordNativePart(db, id, { number, size, md5: Buffer.from(md5, 'hex'), tag })) return md5
      // The upload was aborted meanwhile, perhaps before the back end had the part.
      await resumable.abort(state).catch(() => {})
      throw endedUpload()
    },

    /**
     * Makes the file visible.
     * @param wanted each number with the MD5 that `put` returned
     * @throws PART_MISSING, PART_TOO_SMALL, TOO_LARGE, as `finish`
     */
    async complete(
      upload: ActiveUpload,
      wanted: readonly { number: number; md5: string }[],
      conflict: ConflictBehavior,
      signal: AbortSignal,
    ): Promise<void> {
      const { lease, location, maxBytes } = upload
      const minSize = location.resumable?.minPartSize
      if (minSize == null) throw missingUpload()
      const { parts, size } = selectNativeParts(await listParts(db, lease.record.id), wanted, minSize)
      requireFits(size, maxBytes)
      await lease.save({ size, received: size, appended: size, conflict })
      await finish(upload, [], signal, parts)
    },
  }
}
