import { type Kysely, sql } from 'kysely'

/** A public key names one API key of an account, instead of one of all: anybody can register it, because it is public. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`drop index api_keys_public_key`.execute(db)
  await sql`create unique index api_keys_public_key on api_keys (public_key, user_id) where revoked_at is null`.execute(
    db,
  )
}
