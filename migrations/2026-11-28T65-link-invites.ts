import { type Kysely, sql } from 'kysely'

/** Invites with which a member links an account at an issuer of single sign-on. */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table link_invites (
      user_id uuid primary key references users on delete cascade,
      workspace_id uuid not null references workspaces on delete cascade,
      token_hash bytea not null unique check (octet_length(token_hash) = 32),
      created_by uuid not null references users on delete cascade,
      expires_at timestamptz not null
    );
    create index link_invites_workspace_id on link_invites (workspace_id);
    create index link_invites_created_by on link_invites (created_by)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
