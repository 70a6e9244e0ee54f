/** The outbox of push notifications. A trigger of the audit log inserts most of them: see the migration. */
import { type SqlBool, sql } from 'kysely'
import { secondsFromNow } from './claims.ts'
import type { Change, Database } from './client.ts'
import { claimMessage, isAnyMessageDue } from './outbox.ts'
import type { PushEvent } from './schema.ts'

export interface WaitingPush {
  id: string
  claimId: string
  subscriptionId: string
  event: PushEvent | 'TEST'
  /** The id of the job, the share or the comment; empty for a test. */
  subjectId: string
  /** Events; 0 if none came since the latest message. */
  count: number
  /** When the first of these events came. */
  since: Date
  /** Attempts that have failed. */
  attempts: number
}

/** Mentions that wait for one browser, such as while its push service does not respond. More are left out. */
const maxWaiting = 100

/** Adds a message to the browsers of people whom a comment mentions. */
export async function insertPushMentions(
  db: Change,
  { workspaceId, commentId }: { workspaceId: string; commentId: string },
  userIds: readonly string[],
): Promise<void> {
  if (userIds.length === 0) return
  await sql`
    with subscriptions as materialized (
      select id from push_subscriptions
      where workspace_id = ${workspaceId} and user_id = any(${userIds}::uuid[]) and 'MENTIONED' = any(events)
      order by id for key share
    )
    insert into push_messages (subscription_id, event, subject_id)
    select s.id, 'MENTIONED', ${commentId}::text from subscriptions s
    where (select count(*) from push_messages m where m.subscription_id = s.id and m.event = 'MENTIONED') < ${maxWaiting}
    order by s.id
    on conflict (subscription_id, event, subject_id) do nothing`.execute(db)
}

/** Sends a test to a browser now. */
export async function insertPushTest(db: Change, subscriptionId: string): Promise<void> {
  await sql`
    insert into push_messages (subscription_id, event, subject_id) values (${subscriptionId}, 'TEST', '')
    on conflict (subscription_id, event, subject_id) do update set count = push_messages.count + 1, next_attempt_at = now()`.execute(
    db,
  )
}

/**
 * A member gets one message at a time from each server, so that a push service that responds late delays nobody else. All messages of a browser wait
 * while one is to be attempted again, because its push service is the same.
 */
const isReady = sql<SqlBool>`not exists (
  select from push_subscriptions own
  join push_subscriptions other on other.workspace_id = own.workspace_id and other.user_id = own.user_id
  join push_messages m on m.subscription_id = other.id and m.next_attempt_at > now()
  where own.id = waiting.subscription_id and (m.claim_id is not null or other.id = own.id and m.attempts > 0))`

export function isAnyPushDue(db: Database): Promise<boolean> {
  return isAnyMessageDue(db, 'push_messages', isReady)
}

/** Claims the message that has been due for the longest time. */
export async function claimPush(db: Database, claimId: string): Promise<WaitingPush | null> {
  const claimed = await claimMessage(db, 'push_messages', claimId, isReady)
  if (!claimed) return null
  const { id, subscription_id: subscriptionId, event, subject_id: subjectId, count, since, attempts } = claimed
  return { id, claimId, subscriptionId, event, subjectId, count, since, attempts }
}

/** Attempts a message again after a time. */
export async function retryPush(db: Database, { id, claimId }: WaitingPush, retrySeconds: number): Promise<void> {
  await sql`
    update push_messages set attempts = attempts + 1, claim_id = null, next_attempt_at = ${secondsFromNow(retrySeconds)}
    where id = ${id} and claim_id = ${claimId}`.execute(db)
}

/** Deletes messages that wait since longer than some seconds. */
export async function deleteOldPush(db: Database, seconds: number): Promise<void> {
  await sql`delete from push_messages where since < now() - make_interval(secs => ${seconds})`.execute(db)
}

/**
 * Ends a message. Events that came during the attempt, or come in the next `quietSeconds`, make another one after that time. Without any,
 * nothing of the message is left.
 */
export async function endPush(db: Database, { id, claimId, count }: WaitingPush, quietSeconds: number): Promise<void> {
  const isClaimed = sql`message.id = ${id} and message.claim_id = ${claimId}`
  if (count === 0 || quietSeconds === 0) {
    const { numAffectedRows } = await sql`
      delete from push_messages message where ${isClaimed} and count = ${count}`.execute(db)
    if (numAffectedRows !== 0n) return
  }
  await sql`
    update push_messages message set count = count - ${count}, since = now(), attempts = 0, claim_id = null,
      next_attempt_at = ${secondsFromNow(quietSeconds)}
    where ${isClaimed}`.execute(db)
}
