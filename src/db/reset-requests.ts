/**
 * Requests of links for a new password, until their email is sent. Anybody can make one with any address, and nobody has looked up yet
 * whether an account has it.
 */
import { sql } from 'kysely'
import type { Change, Database } from './client.ts'
import { claimMessage } from './outbox.ts'

export interface ResetRequest {
  /** The address as it was typed. */
  email: string
  /** The IP address of the person who asked. */
  address: string
}

export interface WaitingRequest extends ResetRequest {
  id: string
  claimId: string
  createdAt: Date
  /** Attempts that have failed. */
  attempts: number
}

/** Requests that wait, such as while the mail server does not respond. More are left out. */
const maxWaiting = 10_000

/** Returns false if too many requests wait. */
export async function insertResetRequest(db: Change, { email, address }: ResetRequest): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    insert into reset_requests (email, address) select ${email}, ${address}
    where (select count(*) from reset_requests) < ${maxWaiting}`.execute(db)
  return numAffectedRows > 0n
}

/** Claims the request that has been due for the longest time. */
export async function claimResetRequest(db: Database, claimId: string): Promise<WaitingRequest | null> {
  const claimed = await claimMessage(db, 'reset_requests', claimId)
  if (!claimed) return null
  const { id, email, address, created_at: createdAt, attempts } = claimed
  return { id, claimId, email, address, createdAt, attempts }
}

/** Removes requests that nobody sends, such as after the mail server was taken out of the settings. */
export async function deleteResetRequestsBefore(db: Database, time: Date): Promise<void> {
  await db.deleteFrom('reset_requests').where('created_at', '<', time).execute()
}
