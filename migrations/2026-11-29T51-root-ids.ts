import { type Kysely, sql } from 'kysely'

/** Where the root of a provider is, to find those that overlap with an encrypted one. Null for providers that were connected before. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table providers add column root_id text`.execute(db)
}
