import type { Selectable } from 'kysely'
import type { Change, Database } from './client.ts'
import type { Schema } from './schema.ts'

/** A request for consent to which the vendor has not responded yet. */
export interface OAuthState {
  providerId: string
  workspaceId: string
  userId: string
  /** The encrypted secrets of the request. */
  sealed: Buffer
}

export async function insertOAuthState(
  db: Change,
  values: OAuthState & { stateHash: Buffer; expiresAt: Date },
): Promise<void> {
  await db
    .insertInto('oauth_states')
    .values({
      state_hash: values.stateHash,
      provider_id: values.providerId,
      workspace_id: values.workspaceId,
      user_id: values.userId,
      sealed: values.sealed,
      expires_at: values.expiresAt,
    })
    .execute()
}

/** Returns null if the state is unknown, used or expired. */
export async function findOAuthState(db: Database, stateHash: Buffer): Promise<OAuthState | null> {
  const row = await db.selectFrom('oauth_states').where('state_hash', '=', stateHash).selectAll().executeTakeFirst()
  return row ? toOAuthState(row) : null
}

/** Deletes and returns a state, so that it is used only once. Returns null if it is unknown, used or expired. */
export async function takeOAuthState(db: Database, stateHash: Buffer): Promise<OAuthState | null> {
  const row = await db.deleteFrom('oauth_states').where('state_hash', '=', stateHash).returningAll().executeTakeFirst()
  return row ? toOAuthState(row) : null
}

export async function deleteOAuthStatesExpiredBefore(db: Database, time: Date): Promise<void> {
  await db.deleteFrom('oauth_states').where('expires_at', '<', time).execute()
}

function toOAuthState(row: Selectable<Schema['oauth_states']>): OAuthState | null {
  if (row.expires_at <= new Date()) return null
  return { providerId: row.provider_id, workspaceId: row.workspace_id, userId: row.user_id, sealed: row.sealed }
}
