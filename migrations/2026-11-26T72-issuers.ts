import { type Kysely, sql } from 'kysely'

/**
 * OpenID Connect issuers of a workspace, beside the one of the settings. `secret` is encrypted. `domains` and `group_ids` are the rule
 * by which a verified email gets an account. `issuer_tests` has test sign-ins, whose settings are encrypted.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table issuers (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      name text not null check (octet_length(name) <= 800),
      issuer text not null check (octet_length(issuer) <= 1000),
      client_id text not null,
      secret bytea not null,
      groups_claim text,
      domains text[] not null,
      group_ids uuid[] not null,
      is_enabled boolean not null,
      version integer not null default 1,
      created_at timestamptz not null default now(),
      unique (workspace_id, name),
      unique (workspace_id, issuer)
    );
    create table issuer_tests (
      credential_id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      sealed bytea not null,
      expires_at timestamptz not null
    );
    create index issuer_tests_expires_at on issuer_tests (expires_at)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
