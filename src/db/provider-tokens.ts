import { type Selectable, sql } from 'kysely'
import type { Change, Database } from './client.ts'
import type { Schema } from './schema.ts'

export interface StoredTokens {
  /** Each encryption differs, so a changed value shows that the tokens were replaced. */
  sealed: Buffer
  /** The expiry of the access token. */
  expiresAt: Date
}

export async function findProviderTokens(db: Database, providerId: string): Promise<StoredTokens | null> {
  const row = await db
    .selectFrom('provider_tokens')
    .select(['sealed', 'expires_at'])
    .where('provider_id', '=', providerId)
    .executeTakeFirst()
  return row ? { sealed: row.sealed, expiresAt: row.expires_at } : null
}

/** Replaces the stored tokens, even during a refresh. */
export async function putProviderTokens(db: Database, providerId: string, tokens: StoredTokens): Promise<void> {
  const values = { sealed: tokens.sealed, expires_at: tokens.expiresAt, refreshing_until: null }
  await db
    .insertInto('provider_tokens')
    .values({ provider_id: providerId, ...values })
    .onConflict(conflict => conflict.column('provider_id').doUpdateSet(values))
    .execute()
}

export async function deleteProviderTokens(db: Database, providerId: string): Promise<void> {
  await db.deleteFrom('provider_tokens').where('provider_id', '=', providerId).execute()
}

/**
 * Claims the refresh of these tokens for `lease` milliseconds. Returns false if another server has the claim or the tokens were
 * replaced.
 */
export async function claimRefresh(db: Database, providerId: string, sealed: Buffer, lease: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('provider_tokens')
    .set({ refreshing_until: sql<Date>`now() + ${lease} * interval '1 millisecond'` })
    .where('provider_id', '=', providerId)
    .where('sealed', '=', sealed)
    .where(({ eb, or }) => or([eb('refreshing_until', 'is', null), eb('refreshing_until', '<', sql<Date>`now()`)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Ends a refresh, which failed if `fresh` is missing. Returns false and stores nothing if the tokens were replaced meanwhile. */
export async function endRefresh(
  db: Database,
  providerId: string,
  sealed: Buffer,
  fresh?: StoredTokens,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('provider_tokens')
    .set({ refreshing_until: null, ...(fresh && { sealed: fresh.sealed, expires_at: fresh.expiresAt }) })
    .where('provider_id', '=', providerId)
    .where('sealed', '=', sealed)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

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
