import { type Kysely, sql } from 'kysely'

/** The longest name of a type of keys in SSH has 64 bytes: RFC 4250, section 4.6.1. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table host_keys add constraint host_keys_type_length check (octet_length(type) <= 64)`.execute(db)
}
