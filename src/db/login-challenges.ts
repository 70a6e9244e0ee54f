/** Sign-ins whose password was right and which wait for a second factor. */
import { sql } from 'kysely'
import type { Change, Database } from './client.ts'

export interface LoginChallenge {
  workspaceId: string
  userId: string
  /** SHA-256 of the hash of the password; null if a directory has verified the password. */
  passwordDigest: Buffer | null
  /** The identity in this directory. */
  identityId: string | null
}

/** The maximum number of challenges of a member. The oldest ends when another one begins. */
const maxOfMember = 10

export async function insertLoginChallenge(
  db: Database,
  values: LoginChallenge & { tokenHash: Buffer; expiresAt: Date },
): Promise<void> {
  const { workspaceId, userId, passwordDigest, identityId, tokenHash, expiresAt } = values
  await sql`
    delete from login_challenges where workspace_id = ${workspaceId} and user_id = ${userId} and token_hash not in (
      select token_hash from login_challenges where workspace_id = ${workspaceId} and user_id = ${userId}
      order by expires_at desc limit ${maxOfMember - 1})`.execute(db)
  await db
    .insertInto('login_challenges')
    .values({
      token_hash: tokenHash,
      workspace_id: workspaceId,
      user_id: userId,
      password_digest: passwordDigest,
      identity_id: identityId,
      expires_at: expiresAt,
    })
    .execute()
}

/** Counts a try. Returns null if the challenge is unknown or expired, or had its tries. */
export async function tryLoginChallenge(
  db: Database,
  tokenHash: Buffer,
  maxTries: number,
): Promise<LoginChallenge | null> {
  const row = await db
    .updateTable('login_challenges')
    .set({ tries: sql<number>`tries + 1` })
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', new Date())
    .where('tries', '<', maxTries)
    .returning(['workspace_id', 'user_id', 'password_digest', 'identity_id'])
    .executeTakeFirst()
  if (!row) return null
  const { workspace_id: workspaceId, user_id: userId } = row
  return { workspaceId, userId, passwordDigest: row.password_digest, identityId: row.identity_id }
}

/** Removes a challenge, which works once. Returns false if it was removed before. */
export async function takeLoginChallenge(db: Change, tokenHash: Buffer): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('login_challenges')
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

export async function deleteLoginChallengesBefore(db: Database, time: Date): Promise<void> {
  await db.deleteFrom('login_challenges').where('expires_at', '<', time).execute()
}
