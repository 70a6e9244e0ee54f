/** The bytes that a drop link accepts. They are claimed before a file is sent, and returned if it is not stored. */
import { randomUUID } from 'node:crypto'
import type { Database } from '../../db/client.ts'
import {
  addBytes,
  claimBytes,
  claimSeconds,
  dropClaim,
  renewClaim,
  returnLapsedClaims,
  settleClaim,
} from '../../db/shares/claims.ts'
import type { ShareRecord } from '../../db/shares/record.ts'
import { AppError } from '../../errors.ts'

type Limited = Pick<ShareRecord, 'id' | 'maxBytes'>

/**
 * Claims the space of a file for the duration of `store`, which returns the size of the stored file, or null if it is unknown.
 * @throws TOO_LARGE, INVALID_INPUT for an unknown size if the link has a limit, and what `store` throws
 */
export async function withSpace<T extends { size: number | null }>(
  db: Database,
  share: Limited,
  size: number | null,
  store: () => Promise<T>,
): Promise<T> {
  if (size === null) {
    requireNoLimit(share)
    const stored = await store()
    if (stored.size !== null) await addBytes(db, share.id, stored.size)
    return stored
  }
  const claim = await take(db, share, size)
  const stored = await store()
    .catch(async error => {
      await dropClaim(db, claim.id)
      throw error
    })
    .finally(claim.stop)
  // The claim has lapsed if this server did not run for a while.
  if (!(await settleClaim(db, claim.id))) await addBytes(db, share.id, size)
  return stored
}

async function take(db: Database, share: Limited, bytes: number): Promise<{ id: string; stop: () => void }> {
  const claim = { id: randomUUID(), shareId: share.id, bytes }
  const isTaken = (await claimBytes(db, claim)) || ((await returnLapsedClaims(db)) && (await claimBytes(db, claim)))
  if (!isTaken) {
    throw new AppError('TOO_LARGE', `All files that this link accepts can have ${share.maxBytes} bytes together.`)
  }
  // A renewal that fails is repeated by the next one.
  const renew = () => void renewClaim(db, claim.id).catch(() => {})
  const timer = setInterval(renew, (claimSeconds * 1000) / 3).unref()
  return { id: claim.id, stop: () => clearInterval(timer) }
}

/** @throws INVALID_INPUT */
function requireNoLimit({ maxBytes }: Limited): void {
  if (maxBytes === null) return
  throw new AppError('INVALID_INPUT', 'This link has a limit of bytes: send the size of the file before its content.')
}
