import { type Kysely, sql } from 'kysely'

/** From where each session was started, notes of invites, and links with which people set a new password. */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table sessions
      add column address text check (octet_length(address) <= 200),
      add column user_agent text check (octet_length(user_agent) <= 1000);
    alter table invites add column note text check (octet_length(note) <= 1000);
    create table password_resets (
      user_id uuid primary key references users on delete cascade,
      workspace_id uuid not null references workspaces on delete cascade,
      token_hash bytea not null unique check (octet_length(token_hash) = 32),
      created_by uuid not null references users on delete cascade,
      expires_at timestamptz not null
    );
    create index password_resets_workspace_id on password_resets (workspace_id);
    create index password_resets_created_by on password_resets (created_by)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
