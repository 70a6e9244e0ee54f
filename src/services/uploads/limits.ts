/** Bounds the memory that all uploads of this process use together, however many or slow they are. */
import { randomBytes } from 'node:crypto'
import type { UploadLimits } from '../../db/uploads/record.ts'
import { ByteBudget } from '../../lib/byte-budget.ts'
import type { ResumableLocation } from '../../storage/resumable-write.ts'

const mib = 1024 * 1024

/** Bytes of a block gathered in memory, unless the back end needs larger ones. */
const usualBlock = mib
/** Bytes of the largest block. */
const maxBlock = 64 * mib

/** The maximum size of a file that waits in the database because its back end stores no unfinished files. */
export const maxHeldBytes = 1024 * mib
/** Limits on all unfinished uploads of one member, of one share link, and of all share links of one member. */
export const memberLimits: UploadLimits = {
  own: { uploads: 100, bytes: 4 * maxHeldBytes },
  links: { uploads: 400, bytes: 8 * maxHeldBytes },
}

/** Returns the block size in bytes. It is constant for an upload, because some back ends require equal parts. */
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

/** Bytes gathered for blocks. Blocks that are being sent can use as many again. */
const gatheredBytes = 128 * mib
const smallestShare = 64 * 1024
let sharing = 0

/** One upload's share of the memory for blocks. An upload that reaches it moves its bytes to the database. */
export class BlockBudget implements Disposable {
  constructor() {
    sharing += 1
  }

  /** Shrinks as the number of uploads grows. */
  get bytes(): number {
    return Math.max(smallestShare, gatheredBytes / sharing)
  }

  [Symbol.dispose](): void {
    sharing -= 1
  }
}

/** Bodies that are buffered until their checksum is verified and they are stored. */
export const checksumBudget = new ByteBudget({ total: 128 * mib })
/** Parts in memory that wait for their turn or are being appended. */
export const partBudget = new ByteBudget({ total: 128 * mib })

const bytes = 24
const pattern = /^[\w-]{32}$/

export function newUploadId(): string {
  return randomBytes(bytes).toString('base64url')
}

/** Other texts are not looked up. */
export function isUploadId(text: string): boolean {
  return pattern.test(text)
}
