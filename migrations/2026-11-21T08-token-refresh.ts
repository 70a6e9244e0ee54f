import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table provider_tokens add column refreshing_until timestamptz`.execute(db)
}
