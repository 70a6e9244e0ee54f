/** The bytes that a drop link accepts. They are reserved before a file is sent, and returned if it is not stored. */
import type { Database } from '../../db/client.ts'
import { claimBytes, releaseBytes } from '../../db/shares/claims.ts'
import type { ShareRecord } from '../../db/shares/record.ts'
import { AppError } from '../../errors.ts'

/** @throws TOO_LARGE, INVALID_INPUT for an unknown size if the link has a limit */
export async function takeSpace(
  db: Database,
  { id, maxBytes }: Pick<ShareRecord, 'id' | 'maxBytes'>,
  size: number | null,
): Promise<void> {
  if (size === null) {
    if (maxBytes === null) return
    throw new AppError('INVALID_INPUT', 'This link has a limit of bytes: send the size of the file before its content.')
  }
  if (await claimBytes(db, id, size)) return
  throw new AppError('TOO_LARGE', `All files that this link accepts can have ${maxBytes} bytes together.`)
}

/** Returns the space of a file that was not stored. */
export async function returnSpace(db: Database, shareId: string, size: number | null): Promise<void> {
  if (size !== null && size > 0) await releaseBytes(db, shareId, size)
}
