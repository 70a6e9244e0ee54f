import { type Kysely, sql } from 'kysely'

/** Bounds all indexed columns, so that no value is too long for its index. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table locks add constraint locks_key_length check (octet_length(key) = 32) not valid`.execute(db)
}
