import { type Kysely, sql } from 'kysely'

/** When each LDAP directory is read again, and by which server. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table directory_syncs (
      id text primary key check (octet_length(id) <= 1000),
      due_at timestamptz not null,
      claim_id uuid,
      claimed_until timestamptz,
      ended_at timestamptz,
      people integer,
      error text
    )`.execute(db)
}
