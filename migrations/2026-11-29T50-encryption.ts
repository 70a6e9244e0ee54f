import { type Kysely, sql } from 'kysely'

/** The settings of encrypted storages, and their passwords as encrypted JSON. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table providers
      add column encryption jsonb,
      add column encryption_secrets bytea,
      add constraint providers_encryption_has_secrets check ((encryption is null) = (encryption_secrets is null))`.execute(
    db,
  )
}
