import type { UploadLimits } from '../../db/uploads.ts'
import type { ResumableLocation } from '../../storage/resumable-write.ts'

const mib = 1024 * 1024

/** Bytes of a block that is gathered in memory, where the back end does not ask for more. */
const usualBlock = mib
/** Bytes of the largest. */
const maxBlock = 64 * mib

/** Bytes of a file that is held in the database until it is complete, as its back end holds nothing unfinished. */
export const maxHeldBytes = 1024 * mib
/** Of all unfinished uploads of one member. */
export const memberLimits: UploadLimits = { uploads: 100, bytes: 4 * maxHeldBytes }

/** Bytes that are appended at once: of one length for the whole upload, as some back ends take no parts of others. */
export function blockFor(resumable: ResumableLocation | null, size: number | null): number {
  if (!resumable) return usualBlock
  const { partSize, maxAppends } = resumable
  const needed = Math.max(usualBlock, size === null ? 0 : Math.ceil(size / maxAppends))
  return Math.ceil(needed / partSize) * partSize
}

/** Bytes of the largest file that can be sent in blocks of at most `maxBlock`. */
export function maxFileBytes({ partSize, maxAppends }: ResumableLocation): number {
  return Math.max(partSize, maxBlock) * maxAppends
}
