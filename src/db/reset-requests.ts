/**
 * Requests of links for a new password, until their email is sent. Anybody can make one with any address, and nobody has looked up yet
 * whether an account has it.
 */
import { type SqlBool, sql } from 'kysely'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Change, Database } from './client.ts'

export interface ResetRequest {
  /** As somebody has typed it. */
  email: string
  /** The IP of whoever asked. */
  address: string
}

export interface WaitingRequest extends ResetRequest {
  id: string
  claimId: string
  createdAt: Date
  /** Attempts that have failed. */
  attempts: number
}

/** Seconds after which another server sends the message. Longer than all timeouts of an attempt. */
const claimSeconds = 180
/** Requests that wait, such as while the mail server does not respond. More are left out. */
const maxWaiting = 10_000

export async function insertResetRequest(db: Change, { email, address }: ResetRequest): Promise<void> {
  await sql`
    insert into reset_requests (email, address) select ${email}, ${address}
    where (select count(*) from reset_requests) < ${maxWaiting}`.execute(db)
}

const isDue = sql<SqlBool>`waiting.next_attempt_at <= now()`

export function isAnyRequestDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'reset_requests', isDue)
}

/** Claims the request that has been due for the longest time. */
export async function claimResetRequest(db: Database, claimId: string): Promise<WaitingRequest | null> {
  const dueKeys = dueRows('reset_requests', { isDue, orderBy: sql`waiting.next_attempt_at` })
  const set = sql`claim_id = ${claimId}, next_attempt_at = ${secondsFromNow(claimSeconds)}`
  const [claimed] = await claimRows(db, 'reset_requests', { dueKeys, set })
  if (!claimed) return null
  const { id, email, address, created_at: createdAt, attempts } = claimed
  return { id, claimId, email, address, createdAt, attempts }
}

/** Ends a claim: the message is attempted again after a time or, for null, the request is removed. */
export async function settleResetRequest(
  db: Database,
  { id, claimId }: Pick<WaitingRequest, 'id' | 'claimId'>,
  retrySeconds: number | null,
): Promise<void> {
  if (retrySeconds === null) {
    await db.deleteFrom('reset_requests').where('id', '=', id).where('claim_id', '=', claimId).execute()
    return
  }
  await db
    .updateTable('reset_requests')
    .set(eb => ({ attempts: eb('attempts', '+', 1), next_attempt_at: secondsFromNow(retrySeconds), claim_id: null }))
    .where('id', '=', id)
    .where('claim_id', '=', claimId)
    .execute()
}

/** Removes requests that nobody sends, such as after the mail server was taken out of the settings. */
export async function deleteResetRequestsBefore(db: Database, time: Date): Promise<void> {
  await db.deleteFrom('reset_requests').where('created_at', '<', time).execute()
}
