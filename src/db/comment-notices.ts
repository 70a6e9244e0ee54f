/** The outbox of emails to people whom comments mention. */
import { sql } from 'kysely'
import type { Change, Database } from './client.ts'
import { findMailedComment, type MailedComment } from './entry-comments.ts'
import { claimMessage, settleMessage } from './outbox.ts'

export interface WaitingMention extends MailedComment {
  id: string
  claimId: string
  /** The member whom the comment mentions. */
  userId: string
  /** Attempts that have failed. */
  attempts: number
}

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

/** Claims the message that has been due for the longest time. */
export async function claimMention(db: Database, claimId: string): Promise<WaitingMention | null> {
  const claimed = await claimMessage(db, 'comment_notices', claimId)
  if (!claimed) return null
  const comment = await findMailedComment(db, claimed.comment_id)
  // Messages are deleted with their comment.
  if (!comment) return null
  return { ...comment, id: claimed.id, claimId, userId: claimed.user_id, attempts: claimed.attempts }
}

/**
 * Ends a claim: the message is attempted again after a time or, for null, never. Its row stays, so that an edit of the comment sends no other
 * one.
 */
export async function settleMention(
  db: Database,
  mention: Pick<WaitingMention, 'id' | 'claimId'>,
  retrySeconds: number | null,
): Promise<void> {
  if (retrySeconds !== null) return settleMessage(db, 'comment_notices', mention, retrySeconds)
  await db
    .updateTable('comment_notices')
    .set({ next_attempt_at: null })
    .where('id', '=', mention.id)
    .where('claim_id', '=', mention.claimId)
    .execute()
}
