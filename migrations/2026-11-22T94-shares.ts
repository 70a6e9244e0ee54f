import { type Kysely, sql } from 'kysely'

/**
 * Share links, the third kind of credential. A share ends with the membership of the person who made it, and with the API key
 * that made it. `paths` have no leading "/".
 */
export async function up(db: Kysely<never>): Promise<void> {
  const kinds = `credential_kind in ('SESSION', 'API_KEY', 'SHARE')`
  const statements = `
    create table shares (
      id uuid primary key,
      workspace_id uuid not null,
      user_id uuid not null,
      credential_kind text not null check (credential_kind in ('SESSION', 'API_KEY')),
      credential_id uuid not null,
      kind text not null check (kind in ('VIEW', 'DROP')),
      provider_id uuid not null references providers on delete cascade,
      paths text[] not null check (cardinality(paths) > 0),
      is_folder boolean not null,
      token_hash bytea not null unique check (octet_length(token_hash) = 32),
      token bytea not null,
      password_hash text,
      note text not null,
      expires_at timestamptz,
      max_downloads integer check (max_downloads > 0),
      downloads bigint not null default 0,
      max_bytes bigint check (max_bytes > 0),
      received_bytes bigint not null default 0 check (received_bytes >= 0),
      file_types text[] not null,
      created_at timestamptz not null default now(),
      revoked_at timestamptz,
      last_used_at timestamptz,
      foreign key (workspace_id, user_id) references members on delete cascade,
      check (kind = 'VIEW' or (is_folder and cardinality(paths) = 1))
    );
    create index shares_page on shares (workspace_id, id);
    create index shares_member_page on shares (workspace_id, user_id, id);
    create index shares_provider_id on shares (provider_id);
    alter table uploads
      drop constraint uploads_credential_kind_check,
      add constraint uploads_credential_kind_check check (${kinds});
    alter table audit_events
      drop constraint audit_events_credential_kind_check,
      add constraint audit_events_credential_kind_check check (${kinds})
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
