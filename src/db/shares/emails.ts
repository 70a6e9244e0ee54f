/** The outbox of emails about shares. A claim lets one server at a time send a message, and ends by itself if that server fails. */
import { type SqlBool, sql } from 'kysely'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from '../claims.ts'
import type { Change, Database } from '../client.ts'
import { emailKey } from '../users.ts'
import { languageOfWorkspace } from '../workspaces.ts'
import { type ShareRecord, shareColumns, toShare } from './shares.ts'

/** Seconds after which another server sends the message. Longer than all timeouts of an attempt. */
const claimSeconds = 180

export interface ShareEmail {
  id: string
  claimId: string
  /** Who gets the link; null for a message to the creator of the share about files that arrived. */
  recipient: string | null
  /** Files that arrived. */
  files: number
  bytes: number
  /** Attempts that have failed. */
  attempts: number
  share: ShareRecord
  creator: { email: string; name: string | null; isService: boolean }
  providerName: string
  /** The tag of the language of the reader or, without one, of the workspace; null without either. */
  language: string | null
}

export async function insertInvitations(
  db: Change,
  emails: readonly { id: string; shareId: string; recipient: string }[],
): Promise<void> {
  if (emails.length === 0) return
  const rows = emails.map(({ id, shareId, recipient }) => ({ id, share_id: shareId, recipient }))
  await db.insertInto('share_emails').values(rows).execute()
}

const isDue = sql<SqlBool>`waiting.next_attempt_at <= now()`

export function isAnyEmailDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'share_emails', isDue)
}

/** Claims the message that has been due for the longest time. */
export async function claimEmail(db: Database, claimId: string): Promise<ShareEmail | null> {
  const dueKeys = dueRows('share_emails', { isDue, orderBy: sql`waiting.next_attempt_at` })
  const set = sql`claim_id = ${claimId}, next_attempt_at = ${secondsFromNow(claimSeconds)}`
  const [claimed] = await claimRows(db, 'share_emails', { dueKeys, set })
  if (!claimed) return null
  // A link can go to somebody without an account.
  const recipientKey = claimed.recipient === null ? null : emailKey(claimed.recipient)
  const ofReader =
    recipientKey === null
      ? sql`users.language`
      : sql`(select reader.language from users reader where reader.email_key = ${recipientKey})`
  const row = await db
    .selectFrom('shares')
    .innerJoin('users', 'users.id', 'shares.user_id')
    .innerJoin('providers', 'providers.id', 'shares.provider_id')
    .select(shareColumns)
    .select(['users.email', 'users.name', 'users.is_service', 'providers.name as provider_name'])
    .select(sql<string | null>`coalesce(${ofReader}, ${languageOfWorkspace})`.as('language'))
    .where('shares.id', '=', claimed.share_id)
    .executeTakeFirst()
  // Messages are deleted with their share.
  if (!row) return null
  const { id, recipient, files, bytes, attempts } = claimed
  const creator = { email: row.email, name: row.name, isService: row.is_service }
  const share = toShare(row)
  return {
    id,
    claimId,
    recipient,
    files,
    bytes: Number(bytes),
    attempts,
    share,
    creator,
    providerName: row.provider_name,
    language: row.language,
  }
}

/** Ends a claim: the message is attempted again after a time or, for null, removed. */
export async function settleEmail(
  db: Database,
  { id, claimId }: Pick<ShareEmail, 'id' | 'claimId'>,
  retrySeconds: number | null,
): Promise<void> {
  if (retrySeconds === null) {
    await db.deleteFrom('share_emails').where('id', '=', id).where('claim_id', '=', claimId).execute()
    return
  }
  // The claim stays, because a message that was attempted collects no more files.
  await db
    .updateTable('share_emails')
    .set(eb => ({
      attempts: eb('attempts', '+', 1),
      next_attempt_at: secondsFromNow(retrySeconds),
    }))
    .where('id', '=', id)
    .where('claim_id', '=', claimId)
    .execute()
}
