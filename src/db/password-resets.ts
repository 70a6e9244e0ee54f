import type { Change, Database } from './client.ts'

/** A link with which a member sets a new password. */
export interface PasswordReset {
  workspaceId: string
  userId: string
  /** The administrator who made it. */
  createdBy: string
}

/** Stores a reset. It replaces an earlier one of the same person. */
export async function putPasswordReset(
  db: Change,
  { workspaceId, userId, createdBy, tokenHash, expiresAt }: PasswordReset & { tokenHash: Buffer; expiresAt: Date },
): Promise<void> {
  const values = { workspace_id: workspaceId, token_hash: tokenHash, created_by: createdBy, expires_at: expiresAt }
  await db
    .insertInto('password_resets')
    .values({ user_id: userId, ...values })
    .onConflict(conflict => conflict.column('user_id').doUpdateSet(values))
    .execute()
}

/** Returns whether a reset is known and has not expired. */
export async function hasPasswordReset(db: Database, tokenHash: Buffer): Promise<boolean> {
  const row = await db
    .selectFrom('password_resets')
    .select('user_id')
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', new Date())
    .executeTakeFirst()
  return row !== undefined
}

/** Removes a reset, which works once. Returns null if it is unknown or expired. */
export async function takePasswordReset(db: Change, tokenHash: Buffer): Promise<PasswordReset | null> {
  const row = await db
    .deleteFrom('password_resets')
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', new Date())
    .returning(['workspace_id', 'user_id', 'created_by'])
    .executeTakeFirst()
  return row ? { workspaceId: row.workspace_id, userId: row.user_id, createdBy: row.created_by } : null
}
