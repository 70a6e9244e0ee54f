import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table uploads (
      id text primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null,
      credential_kind text not null check (credential_kind in ('SESSION', 'API_KEY')),
      credential_id uuid not null,
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      conflict text not null check (conflict in ('FAIL', 'REPLACE', 'RENAME')),
      reserves boolean not null,
      mime_type text,
      metadata text not null,
      size bigint check (size >= 0),
      received bigint not null default 0,
      appended bigint not null default 0,
      block bigint not null check (block > 0),
      state bytea,
      finishing boolean not null default false,
      stored_path text,
      created_at timestamptz not null default now(),
      touched_at timestamptz not null default now(),
      expires_at timestamptz not null,
      lease_id uuid,
      lease_until timestamptz,
      lease_wanted boolean not null default false,
      check (appended <= received and received <= coalesce(size, received))
    );
    create unique index uploads_reserved on uploads (provider_id, md5(path)) where reserves;
    create index uploads_owner on uploads (workspace_id, user_id);
    create index uploads_provider_id on uploads (provider_id);
    create index uploads_expires_at on uploads (expires_at);

    create table upload_chunks (
      upload_id text not null references uploads on delete cascade,
      position bigint not null,
      bytes bytea not null,
      primary key (upload_id, position)
    );
    alter table upload_chunks alter column bytes set storage external;
  `
  for (const statement of statements.split(';')) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
