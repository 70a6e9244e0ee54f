import { type Kysely, sql } from 'kysely'

/**
 * The bytes that drop links have reserved for files that are under way. A server renews its claims; those of a server that was
 * killed lapse, and their bytes are returned.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table share_claims (
      id uuid primary key,
      share_id uuid not null references shares on delete cascade,
      bytes bigint not null check (bytes >= 0),
      lapses_at timestamptz not null
    );
    create index share_claims_share_id on share_claims (share_id);
    create index share_claims_lapses_at on share_claims (lapses_at)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
