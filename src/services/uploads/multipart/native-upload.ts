/** Uploads whose back end keeps the parts, in any order and at once: each passes through without a lease. */
import type { Grant } from '../../../auth/policy.ts'
import { listParts, recordNativePart, type UploadPart } from '../../../db/uploads/parts.ts'
import type { UploadRecord } from '../../../db/uploads/record.ts'
import { AppError } from '../../../errors.ts'
import type { ConflictBehavior } from '../../files/conflict.ts'
import { type CheckedBody, requireFits } from '../../files/upload.ts'
import { type ActiveUpload, begin, missingUpload, openState, type UploadServices } from '../active-upload.ts'
import { finish, type NativePart } from '../finish.ts'

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

    /**
     * Stores a part.
     * @returns the MD5 of its bytes in hex, and by how many bytes the parts of the upload have grown
     * @throws INVALID_INPUT without a size, NOT_FOUND
     */
    async put(
      granted: Grant<'write'>,
      { id, sealedState }: UploadRecord,
      { number, size, checked }: { number: number; size: number | undefined; checked: CheckedBody },
      signal: AbortSignal,
    ): Promise<{ md5: string; growth: number }> {
      const { resumable } = await storage.writeAt(granted)
      if (!resumable || resumable.minPartSize === null) throw missingUpload()
      if (size === undefined) throw new AppError('INVALID_INPUT', 'Send the length of the part in Content-Length.')
      const state = openState(secrets, { id, sealedState })
      const tag = await resumable.putPart(signal, state, checked.body, { number, size })
      const md5 = checked.hashes().get('md5') ?? ''
      const replaced = await recordNativePart(db, id, { number, size, md5: Buffer.from(md5, 'hex'), tag })
      if (replaced !== null) return { md5, growth: size - replaced }
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

/**
 * Returns the parts that the client lists, and their size in bytes together.
 * @param wanted each number with the MD5 that the client got for the part
 * @throws PART_MISSING, PART_TOO_SMALL
 */
export function selectNativeParts(
  stored: readonly UploadPart[],
  wanted: readonly { number: number; md5: string }[],
  minSize: number,
): { parts: NativePart[]; size: number } {
  const byNumber = new Map(stored.map(part => [part.number, part]))
  const parts: NativePart[] = []
  let size = 0
  for (const [index, { number, md5 }] of wanted.entries()) {
    const part = byNumber.get(number)
    if (!part || part.tag === null || part.md5.toString('hex') !== md5) throw missingPart(number)
    if (part.size < minSize && index < wanted.length - 1) {
      throw new AppError('PART_TOO_SMALL', `Part ${number} has ${part.size} bytes: all but the last need ${minSize}.`)
    }
    parts.push({ number, tag: part.tag })
    size += part.size
  }
  return { parts, size }
}

class EndedUpload extends AppError {}

export function endedUpload(): AppError {
  return new EndedUpload('NOT_FOUND', 'There is no such upload, or it has ended: begin a new one.')
}

/** Returns whether the error is about the upload, and not about the source of a copied part. */
export function isEndedUpload(error: unknown): boolean {
  return error instanceof EndedUpload
}

export function missingPart(number: number): AppError {
  return new AppError('PART_MISSING', `Part ${number} is missing or is another version: send it again.`)
}
