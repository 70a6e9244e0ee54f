/** The outbox of emails about shares. A message that was attempted collects no more files. */
import { sql } from 'kysely'
import type { Change, Database } from '../client.ts'
import { claimMessage } from '../outbox.ts'
import { emailKey } from '../users.ts'
import { languageOfWorkspace } from '../workspaces.ts'
import { type ShareRecord, shareColumns, toShare } from './shares.ts'

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

/** Claims the message that has been due for the longest time. */
export async function claimEmail(db: Database, claimId: string): Promise<ShareEmail | null> {
  const claimed = await claimMessage(db, 'share_emails', claimId)
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
