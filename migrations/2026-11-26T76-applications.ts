import { type Kysely, sql } from 'kysely'

/**
 * Applications that connect with OAuth. A connection is an API key that nobody knows, with the code and the refresh token that its
 * application has. Tokens of access are signed and need no row.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table api_keys add column is_connection boolean not null default false;
    create table applications (
      id uuid primary key default gen_random_uuid(),
      name text not null check (octet_length(name) <= 800),
      redirect_uris text[] not null,
      created_at timestamptz not null default now(),
      used_at timestamptz,
      expires_at timestamptz not null
    );
    create index applications_expires_at on applications (expires_at);
    create index applications_unused on applications (created_at) where used_at is null;
    create table connections (
      key_id uuid primary key references api_keys on delete cascade,
      client_id text not null check (octet_length(client_id) <= 2000),
      client_name text not null check (octet_length(client_name) <= 800),
      redirect_uri text not null check (octet_length(redirect_uri) <= 2000),
      audience text not null check (audience in ('SERVER', 'MCP')),
      code_hash bytea not null unique check (octet_length(code_hash) = 32),
      code_challenge text not null check (octet_length(code_challenge) <= 100),
      code_expires_at timestamptz not null,
      refresh_hash bytea unique check (octet_length(refresh_hash) = 32)
    );
    create index connections_unused on connections (code_expires_at) where refresh_hash is null
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
