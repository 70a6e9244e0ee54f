/** The outbox of emails to people about changes of the ways to sign in to their account. */
import { type SqlBool, sql } from 'kysely'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Change, Database } from './client.ts'
import type { NoticeKind } from './schema.ts'
import { languageOfWorkspace } from './workspaces.ts'

export interface AccountNotice {
  userId: string
  kind: NoticeKind
  /** The name of a passkey; null for other changes. */
  name: string | null
  /** The IP from which it was changed; empty for the operator. */
  address: string
}

export interface WaitingNotice extends AccountNotice {
  id: string
  claimId: string
  recipient: string
  /** The tag of the language of the person or, without one, of the workspace; null without either. */
  language: string | null
  createdAt: Date
  /** Attempts that have failed. */
  attempts: number
}

/** Seconds after which another server sends the message. Longer than all timeouts of an attempt. */
const claimSeconds = 180
/** Messages to one person that wait, such as while the mail server does not respond. More are left out. */
const maxWaiting = 100

export async function insertNotice(db: Change, { userId, kind, name, address }: AccountNotice): Promise<void> {
  await sql`
    insert into account_notices (user_id, kind, name, address)
    select ${userId}::uuid, ${kind}, ${name}, ${address}
    where (select count(*) from account_notices where user_id = ${userId}::uuid) < ${maxWaiting}`.execute(db)
}

const isDue = sql<SqlBool>`waiting.next_attempt_at <= now()`

export function isAnyNoticeDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'account_notices', isDue)
}

/** Claims the message that has been due for the longest time. */
export async function claimNotice(db: Database, claimId: string): Promise<WaitingNotice | null> {
  const dueKeys = dueRows('account_notices', { isDue, orderBy: sql`waiting.next_attempt_at` })
  const set = sql`claim_id = ${claimId}, next_attempt_at = ${secondsFromNow(claimSeconds)}`
  const [claimed] = await claimRows(db, 'account_notices', { dueKeys, set })
  if (!claimed) return null
  const user = await db
    .selectFrom('users')
    .select(['email', sql<string | null>`coalesce(language, ${languageOfWorkspace})`.as('language')])
    .where('id', '=', claimed.user_id)
    .executeTakeFirst()
  // Messages are deleted with their user.
  if (!user) return null
  return {
    id: claimed.id,
    claimId,
    userId: claimed.user_id,
    recipient: user.email,
    language: user.language,
    kind: claimed.kind,
    name: claimed.name,
    address: claimed.address,
    createdAt: claimed.created_at,
    attempts: claimed.attempts,
  }
}

/** Ends a claim: the message is attempted again after a time or, for null, removed. */
export async function settleNotice(
  db: Database,
  { id, claimId }: Pick<WaitingNotice, 'id' | 'claimId'>,
  retrySeconds: number | null,
): Promise<void> {
  if (retrySeconds === null) {
    await db.deleteFrom('account_notices').where('id', '=', id).where('claim_id', '=', claimId).execute()
    return
  }
  await db
    .updateTable('account_notices')
    .set(eb => ({ attempts: eb('attempts', '+', 1), next_attempt_at: secondsFromNow(retrySeconds), claim_id: null }))
    .where('id', '=', id)
    .where('claim_id', '=', claimId)
    .execute()
}
