import { sql } from 'kysely'
import type { Database } from './client.ts'

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
