import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table workspaces (
      id uuid primary key default gen_random_uuid(),
      name text not null,
      registration text not null default 'OPEN' check (registration in ('OPEN', 'INVITE', 'CLOSED')),
      created_at timestamptz not null default now()
    );

    create table users (
      id uuid primary key default gen_random_uuid(),
      email text not null,
      email_key text not null unique,
      name text,
      password_hash text not null,
      created_at timestamptz not null default now()
    );

    create table members (
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null references users on delete cascade,
      role text not null check (role in ('OWNER', 'ADMIN', 'EDITOR', 'VIEWER', 'NONE')),
      provider_access jsonb not null,
      created_at timestamptz(3) not null default now(),
      primary key (workspace_id, user_id)
    );
    create index members_user_id on members (user_id);
    create index members_page on members (workspace_id, created_at, user_id);

    create table sessions (
      id uuid primary key default gen_random_uuid(),
      workspace_id uuid not null,
      user_id uuid not null,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null,
      revoked_at timestamptz,
      foreign key (workspace_id, user_id) references members on delete cascade
    );
    create index sessions_member on sessions (workspace_id, user_id);
    create index sessions_expires_at on sessions (expires_at);

    create table api_keys (
      id uuid primary key default gen_random_uuid(),
      workspace_id uuid not null,
      user_id uuid not null,
      name text not null,
      key_hash bytea not null,
      display_prefix text not null,
      scopes text[] not null check (cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'admin']),
      provider_access jsonb not null,
      created_at timestamptz not null default now(),
      expires_at timestamptz,
      revoked_at timestamptz,
      last_used_at timestamptz,
      foreign key (workspace_id, user_id) references members on delete cascade
    );
    create unique index api_keys_key_hash on api_keys (key_hash);
    create index api_keys_member on api_keys (workspace_id, user_id);

    create table invites (
      id uuid primary key default gen_random_uuid(),
      workspace_id uuid not null references workspaces on delete cascade,
      token_hash bytea not null unique,
      role text not null check (role in ('OWNER', 'ADMIN', 'EDITOR', 'VIEWER', 'NONE')),
      provider_access jsonb not null,
      created_by uuid references users on delete set null,
      api_key_id uuid references api_keys on delete cascade,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null,
      used_at timestamptz
    );
    create index invites_workspace_id on invites (workspace_id);
    create index invites_api_key_id on invites (api_key_id);

    create table providers (
      id uuid primary key default gen_random_uuid(),
      workspace_id uuid not null references workspaces on delete cascade,
      type text not null,
      name text not null,
      config jsonb not null,
      secrets bytea,
      status text not null check (status in ('CONNECTED', 'NEEDS_AUTHORIZATION', 'NEEDS_RECONNECT', 'UNAVAILABLE')),
      status_reason text,
      version integer not null default 1,
      created_at timestamptz not null default now()
    );
    create index providers_workspace_id on providers (workspace_id, created_at, id);
  `
  for (const statement of statements.split(';')) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
