import { type Kysely, sql } from 'kysely'

/**
 * What each server changes at present, as a list of `{"providerId", "path"}`: the event of a long change is written at its end, and the
 * back end may report the change before.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table catalogue_servers add column running jsonb not null default '[]'`.execute(db)
}
