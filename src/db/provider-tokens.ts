import type { Database } from './client.ts'

export interface StoredTokens {
  sealed: Buffer
  /** Of the access token. */
  expiresAt: Date
}

export async function findProviderTokens(
  db: Database,
  providerId: string,
  options: { forUpdate: boolean } = { forUpdate: false },
): Promise<StoredTokens | null> {
  const query = db.selectFrom('provider_tokens').select(['sealed', 'expires_at']).where('provider_id', '=', providerId)
  const row = await (options.forUpdate ? query.forUpdate() : query).executeTakeFirst()
  return row ? { sealed: row.sealed, expiresAt: row.expires_at } : null
}

export async function putProviderTokens(db: Database, providerId: string, tokens: StoredTokens): Promise<void> {
  const values = { sealed: tokens.sealed, expires_at: tokens.expiresAt }
  await db
    .insertInto('provider_tokens')
    .values({ provider_id: providerId, ...values })
    .onConflict(conflict => conflict.column('provider_id').doUpdateSet(values))
    .execute()
}
