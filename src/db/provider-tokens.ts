import { sql } from 'kysely'
import type { Database } from './client.ts'

export interface StoredTokens {
  /** Never twice the same, so it also tells whether they were replaced. */
  sealed: Buffer
  /** Of the access token. */
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

/** In place of any that are there, also of those that are being refreshed. */
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
 * The right to refresh these tokens, for `lease` milliseconds. False where another server has it, or where they were
 * replaced meanwhile.
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

/** Ends a refresh; without `fresh` nothing came of it. False where the tokens were replaced meanwhile, and stay so. */
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
