import { type Kysely, sql } from 'kysely'

/** What is indexed has a bound, so that no value fails in an index. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table locks add constraint locks_key_length check (octet_length(key) = 32) not valid`.execute(db)
}
