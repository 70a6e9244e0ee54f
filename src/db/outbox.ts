/** Messages that wait to be sent. A claim lets one server at a time send a message, and ends by itself if that server fails. */
import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Database } from './client.ts'
import type { Schema } from './schema.ts'

type OutboxTable = 'account_notices' | 'comment_notices' | 'push_messages' | 'reset_requests' | 'share_emails'

/** Seconds after which another server sends the message. Longer than all timeouts of an attempt. */
const claimSeconds = 180

const isDue = sql<SqlBool>`waiting.next_attempt_at <= now()`

/** @param isReady matches those of the due rows `waiting` that may be sent; default: all */
export function isAnyMessageDue(
  db: Database,
  outbox: OutboxTable,
  isReady: RawBuilder<SqlBool> = sql`true`,
): Promise<boolean> {
  return isAnyDue(db, outbox, sql`${isDue} and ${isReady}`)
}

/** Claims the message that has been due for the longest time. @param isReady as for `isAnyMessageDue` */
export async function claimMessage<Name extends OutboxTable>(
  db: Database,
  outbox: Name,
  claimId: string,
  isReady: RawBuilder<SqlBool> = sql`true`,
): Promise<Selectable<Schema[Name]> | null> {
  const dueKeys = dueRows(outbox, { isDue: sql`${isDue} and ${isReady}`, orderBy: sql`waiting.next_attempt_at` })
  const set = sql`claim_id = ${claimId}, next_attempt_at = ${secondsFromNow(claimSeconds)}`
  const [claimed] = await claimRows(db, outbox, { dueKeys, set })
  return claimed ?? null
}

/** Ends a claim: the message is attempted again after a time or, for null, removed. Its claim still shows that it was attempted. */
export async function settleMessage(
  db: Database,
  outbox: OutboxTable,
  { id, claimId }: { id: string; claimId: string },
  retrySeconds: number | null,
): Promise<void> {
  const isClaimed = sql`id = ${id} and claim_id = ${claimId}`
  if (retrySeconds === null) {
    await sql`delete from ${sql.table(outbox)} where ${isClaimed}`.execute(db)
    return
  }
  await sql`
    update ${sql.table(outbox)} set attempts = attempts + 1, next_attempt_at = ${secondsFromNow(retrySeconds)}
    where ${isClaimed}`.execute(db)
}

/** Days that an email that was given up is remembered. */
const lostDays = 30

/** Remembers that an email was given up. */
export async function noteLostEmail(db: Database): Promise<void> {
  await db.insertInto('lost_emails').defaultValues().execute()
}

export async function deleteOldLostEmails(db: Database): Promise<void> {
  await sql`delete from lost_emails where at < now() - make_interval(days => ${lostDays})`.execute(db)
}
