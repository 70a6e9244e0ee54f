/** The outbox of emails to people whom comments mention. */
import { type SqlBool, sql } from 'kysely'
import type { StoragePath } from '../auth/path.ts'
import { claimRows, dueRows, isAnyDue, secondsFromNow } from './claims.ts'
import type { Change, Database } from './client.ts'
import { restoredPath } from './entry-paths.ts'

export interface WaitingMention {
  id: string
  claimId: string
  /** Whom the comment mentions. */
  userId: string
  workspaceId: string
  providerId: string
  path: StoragePath
  isFolder: boolean
  providerName: string
  /** The name of the author; null if they are no member any more. */
  author: string | null
  text: string
  /** The tag of the language of the workspace. */
  workspaceLanguage: string | null
  /** Attempts that have failed. */
  attempts: number
}

/** Seconds after which another server sends the message. Longer than all timeouts of an attempt. */
const claimSeconds = 180
/** Messages to one person that wait, such as while the mail server does not respond. More are left out. */
const maxWaiting = 100

/** Adds a message for each person who has got none about the comment. */
export async function insertMentions(db: Change, commentId: string, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return
  await sql`
    insert into comment_notices (comment_id, user_id)
    select ${commentId}::uuid, mentioned.id from unnest(${userIds}::uuid[]) as mentioned (id)
    where (select count(*) from comment_notices n where n.user_id = mentioned.id and n.next_attempt_at is not null) < ${maxWaiting}
    on conflict (comment_id, user_id) do nothing`.execute(db)
}

const isDue = sql<SqlBool>`waiting.next_attempt_at <= now()`

export function isAnyMentionDue(db: Database): Promise<boolean> {
  return isAnyDue(db, 'comment_notices', isDue)
}

/** Claims the message that has been due for the longest time. */
export async function claimMention(db: Database, claimId: string): Promise<WaitingMention | null> {
  const dueKeys = dueRows('comment_notices', { isDue, orderBy: sql`waiting.next_attempt_at` })
  const set = sql`claim_id = ${claimId}, next_attempt_at = ${secondsFromNow(claimSeconds)}`
  const [claimed] = await claimRows(db, 'comment_notices', { dueKeys, set })
  if (!claimed) return null
  const row = await db
    .selectFrom('entry_comments')
    .innerJoin('providers', 'providers.id', 'entry_comments.provider_id')
    .innerJoin('workspaces', 'workspaces.id', 'entry_comments.workspace_id')
    .leftJoin('members', join =>
      join
        .onRef('members.workspace_id', '=', 'entry_comments.workspace_id')
        .onRef('members.user_id', '=', 'entry_comments.user_id'),
    )
    .leftJoin('users', 'users.id', 'members.user_id')
    .select([
      'entry_comments.workspace_id',
      'entry_comments.provider_id',
      'entry_comments.path',
      'entry_comments.is_folder',
      'entry_comments.text',
      'providers.name as provider_name',
      'workspaces.language',
      sql<string | null>`coalesce(users.name, users.email)`.as('author'),
    ])
    .where('entry_comments.id', '=', claimed.comment_id)
    .executeTakeFirst()
  // Messages are deleted with their comment.
  if (!row) return null
  return {
    id: claimed.id,
    claimId,
    userId: claimed.user_id,
    workspaceId: row.workspace_id,
    providerId: row.provider_id,
    path: restoredPath(row.path),
    isFolder: row.is_folder,
    providerName: row.provider_name,
    author: row.author,
    text: row.text,
    workspaceLanguage: row.language,
    attempts: claimed.attempts,
  }
}

/** Ends a claim: the message is attempted again after a time or, for null, never. */
export async function settleMention(
  db: Database,
  { id, claimId }: Pick<WaitingMention, 'id' | 'claimId'>,
  retrySeconds: number | null,
): Promise<void> {
  await db
    .updateTable('comment_notices')
    .set(eb => ({
      attempts: retrySeconds === null ? eb.ref('attempts') : eb('attempts', '+', 1),
      next_attempt_at: retrySeconds === null ? null : secondsFromNow(retrySeconds),
      claim_id: null,
    }))
    .where('id', '=', id)
    .where('claim_id', '=', claimId)
    .execute()
}
