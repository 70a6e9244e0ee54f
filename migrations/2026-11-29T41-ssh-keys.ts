import { type Kysely, sql } from 'kysely'

/** A public key of SSH, with which the holder of its private key uses the API key over SFTP. It names one API key that is not revoked. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table api_keys add column public_key bytea check (octet_length(public_key) <= 2048)`.execute(db)
  await sql`create unique index api_keys_public_key on api_keys (public_key) where revoked_at is null`.execute(db)
}
