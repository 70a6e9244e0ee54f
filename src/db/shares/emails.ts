/** The outbox of emails about shares. A claim lets one server at a time send a message, and ends by itself if that server fails. */
import { sql } from 'kysely'
import type { Change, Database } from '../client.ts'
import { type ShareRecord, shareColumns, toShare } from './shares.ts'

/** Seconds after which another server sends the message. Longer than all timeouts of an attempt. */
const claimSeconds = 180

export interface ShareEmail {
  id: string
  /** Who gets the link; null for a message to the creator of the share about files that arrived. */
  recipient: string | null
  /** Files that arrived. */
  files: number
  bytes: number
  /** Attempts that have failed. */
  attempts: number
  share: ShareRecord
  maker: { email: string; name: string | null }
  providerName: string
}

export async function insertInvitations(
  db: Change,
  emails: readonly { id: string; shareId: string; recipient: string }[],
): Promise<void> {
  if (emails.length === 0) return
  const rows = emails.map(({ id, shareId, recipient }) => ({ id, share_id: shareId, recipient }))
  await db.insertInto('share_emails').values(rows).execute()
}

/** Returns whether a message is due. Reads only, because every server asks every second. */
export async function isAnyEmailDue(db: Database): Promise<boolean> {
  const { rows } = await sql`select 1 from share_emails where next_attempt_at <= now() limit 1`.execute(db)
  return rows.length > 0
}

/** Claims up to `limit` messages that have been due for the longest time. */
export async function claimEmails(db: Database, claim: string, limit: number): Promise<ShareEmail[]> {
  const rows = await db
    .with('claimed', trx =>
      trx
        .updateTable('share_emails')
        .set({ claim_id: claim, next_attempt_at: sql<Date>`now() + make_interval(secs => ${claimSeconds})` })
        .where(sql<boolean>`id in (
          select id from share_emails where next_attempt_at <= now()
          order by next_attempt_at limit ${limit} for update skip locked)`)
        .returningAll(),
    )
    .selectFrom('claimed')
    .innerJoin('shares', 'shares.id', 'claimed.share_id')
    .innerJoin('users', 'users.id', 'shares.user_id')
    .innerJoin('providers', 'providers.id', 'shares.provider_id')
    .select(shareColumns)
    .select(['claimed.id as email_id', 'claimed.recipient', 'claimed.files', 'claimed.bytes', 'claimed.attempts'])
    .select(['users.email', 'users.name', 'providers.name as provider_name'])
    .execute()
  return rows.map(row => ({
    id: row.email_id,
    recipient: row.recipient,
    files: row.files,
    bytes: Number(row.bytes),
    attempts: row.attempts,
    share: toShare(row),
    maker: { email: row.email, name: row.name },
    providerName: row.provider_name,
  }))
}

/** Ends a claim: the message is attempted again after a time or, for null, removed. */
export async function settleEmail(
  db: Database,
  { id }: Pick<ShareEmail, 'id'>,
  claim: string,
  retrySeconds: number | null,
): Promise<void> {
  if (retrySeconds === null) {
    await db.deleteFrom('share_emails').where('id', '=', id).where('claim_id', '=', claim).execute()
    return
  }
  // The claim stays, because a message that was attempted collects no more files.
  await db
    .updateTable('share_emails')
    .set(eb => ({
      attempts: eb('attempts', '+', 1),
      next_attempt_at: sql<Date>`now() + make_interval(secs => ${retrySeconds})`,
    }))
    .where('id', '=', id)
    .where('claim_id', '=', claim)
    .execute()
}
