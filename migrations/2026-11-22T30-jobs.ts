import { type Kysely, sql } from 'kysely'

/** Jobs, the entries that each of them has still to work on, and what failed. */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table jobs (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null,
      credential_kind text not null check (credential_kind in ('SESSION', 'API_KEY')),
      credential_id uuid not null,
      address text not null,
      request_id text not null,
      kind text not null check (kind in ('COPY', 'MOVE', 'DELETE', 'SYNC')),
      state text not null default 'QUEUED'
        check (state in ('QUEUED', 'RUNNING', 'PAUSED', 'SUCCEEDED', 'FAILED', 'CANCELED')),
      sources jsonb not null,
      target jsonb,
      conflict text not null check (conflict in ('FAIL', 'REPLACE', 'RENAME', 'SKIP', 'NEWER')),
      delete_extra boolean not null default false,
      dry_run boolean not null default false,
      requested text check (requested in ('PAUSE', 'CANCEL')),
      files bigint not null default 0,
      bytes bigint not null default 0,
      skipped bigint not null default 0,
      deleted bigint not null default 0,
      failed bigint not null default 0,
      pending_files bigint not null default 0,
      pending_bytes bigint not null default 0,
      total_files bigint,
      total_bytes bigint,
      bytes_per_second double precision not null default 0,
      error_reason text,
      error_message text,
      created_at timestamptz not null default now(),
      started_at timestamptz,
      ended_at timestamptz,
      lease_id uuid,
      lease_until timestamptz
    );
    create index jobs_workspace on jobs (workspace_id, id);
    create index jobs_owner on jobs (workspace_id, user_id) where state in ('QUEUED', 'RUNNING', 'PAUSED');
    create index jobs_active on jobs (id) where state in ('QUEUED', 'RUNNING');
    create index jobs_ended_at on jobs (ended_at) where ended_at is not null;

    create table job_entries (
      job_id uuid not null references jobs on delete cascade,
      id bigint generated always as identity,
      state text not null check (state in ('SOURCE', 'FILE', 'FOLDER', 'EXTRA', 'LISTED')),
      provider_id uuid not null,
      path text not null,
      target_path text,
      depth integer not null,
      is_started boolean not null default false,
      is_new_target boolean not null default false,
      has_failed boolean not null default false,
      cursor text,
      primary key (job_id, id)
    );
    create index job_entries_depth on job_entries (job_id, depth) where state = 'LISTED';

    create table job_failures (
      job_id uuid not null references jobs on delete cascade,
      id bigint generated always as identity,
      provider_id uuid not null,
      state text not null,
      path text not null,
      target_path text,
      depth integer not null,
      reason text not null,
      message text not null,
      primary key (job_id, id)
    );
  `
  for (const statement of statements.split(';')) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
