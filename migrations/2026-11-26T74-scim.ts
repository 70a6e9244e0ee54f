import { type Kysely, sql } from 'kysely'

/**
 * Tokens of SCIM clients, and the accounts and groups that they manage. A user of SCIM is known by the id of the user here. With the
 * issuer of a token, the `externalId` of a user is their subject there.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table scim_tokens (
      id uuid primary key default gen_random_uuid(),
      workspace_id uuid not null references workspaces on delete cascade,
      name text not null,
      token_hash bytea not null unique check (octet_length(token_hash) = 32),
      display_prefix text not null,
      issuer text check (octet_length(issuer) <= 1000),
      created_by uuid references users on delete set null,
      created_at timestamptz not null default now(),
      last_used_at timestamptz,
      revoked_at timestamptz
    );
    create index scim_tokens_workspace on scim_tokens (workspace_id, created_at);
    create index scim_tokens_created_by on scim_tokens (created_by);
    create table scim_users (
      workspace_id uuid not null,
      user_id uuid not null,
      user_name text not null,
      user_name_key text not null check (octet_length(user_name_key) <= 1024),
      external_id text check (octet_length(external_id) <= 1000),
      given_name text,
      family_name text,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      primary key (workspace_id, user_id),
      unique (workspace_id, user_name_key),
      unique (workspace_id, external_id),
      foreign key (workspace_id, user_id) references members on delete cascade
    );
    create index scim_users_order on scim_users (workspace_id, created_at, user_id);
    alter table groups
      add column external_id text check (octet_length(external_id) <= 1000),
      add column is_issued boolean not null default false,
      add column updated_at timestamptz not null default now();
    alter table audit_events
      drop constraint audit_events_credential_kind_check,
      add constraint audit_events_credential_kind_check
        check (credential_kind in ('SESSION', 'API_KEY', 'SHARE', 'SCIM_TOKEN'))
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
