/** Queries about the invites with which members link an account at an issuer. A member has at most one. */
import type { Selectable } from 'kysely'
import type { Change, Database } from './client.ts'
import type { Schema } from './schema.ts'

export interface LinkInvite {
  workspaceId: string
  userId: string
  /** The administrator who made it. */
  createdBy: string
  expiresAt: Date
}

function toLinkInvite(row: Selectable<Schema['link_invites']>): LinkInvite {
  return { workspaceId: row.workspace_id, userId: row.user_id, createdBy: row.created_by, expiresAt: row.expires_at }
}

/** Stores an invite. It replaces an earlier one of the same member. */
export async function putLinkInvite(
  db: Change,
  { workspaceId, userId, createdBy, expiresAt, tokenHash }: LinkInvite & { tokenHash: Buffer },
): Promise<void> {
  const values = { workspace_id: workspaceId, token_hash: tokenHash, created_by: createdBy, expires_at: expiresAt }
  await db
    .insertInto('link_invites')
    .values({ user_id: userId, ...values })
    .onConflict(conflict => conflict.column('user_id').doUpdateSet(values))
    .execute()
}

/** Ends the invite of a member, if there is one. */
export async function deleteLinkInvite(db: Change, userId: string): Promise<void> {
  await db.deleteFrom('link_invites').where('user_id', '=', userId).execute()
}

/** Returns null for an invite that is unknown, used or expired. */
export async function findLinkInvite(db: Database, tokenHash: Buffer): Promise<LinkInvite | null> {
  const row = await db
    .selectFrom('link_invites')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', new Date())
    .executeTakeFirst()
  return row ? toLinkInvite(row) : null
}

/** Removes an invite, which works once. Returns null if it is unknown, used or expired. */
export async function takeLinkInvite(db: Change, tokenHash: Buffer): Promise<LinkInvite | null> {
  const row = await db
    .deleteFrom('link_invites')
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', new Date())
    .returningAll()
    .executeTakeFirst()
  return row ? toLinkInvite(row) : null
}
