import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table idempotent_uploads (
      credential_id uuid not null,
      key_hash bytea not null,
      fingerprint bytea not null,
      attempt uuid not null,
      held_until timestamptz not null,
      answer jsonb,
      created_at timestamptz not null default now(),
      primary key (credential_id, key_hash)
    );
    create index idempotent_uploads_created_at on idempotent_uploads (created_at);
  `
  for (const statement of statements.split(';')) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
