import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<never>): Promise<void> {
  // No foreign keys: an event outlives what it tells of, and writing one waits for nobody's lock.
  const statements = `
    create table audit_events (
      id uuid primary key,
      workspace_id uuid not null,
      at timestamptz(3) not null,
      action text not null,
      result text not null,
      user_id uuid,
      user_email text,
      user_name text,
      credential_kind text check (credential_kind in ('SESSION', 'API_KEY')),
      credential_id uuid,
      credential_prefix text,
      address text not null,
      request_id text not null,
      provider_id uuid,
      provider_name text,
      path text collate "C",
      to_provider_id uuid,
      to_provider_name text,
      to_path text collate "C",
      subject_kind text,
      subject_id text,
      bytes bigint,
      count integer not null default 1,
      details jsonb not null default '{}'
    );
    create index audit_events_page on audit_events (workspace_id, id);
    create index audit_events_user on audit_events (workspace_id, user_id, id) where user_id is not null;
    create index audit_events_credential on audit_events (workspace_id, credential_id, id) where credential_id is not null;
    create index audit_events_provider on audit_events (workspace_id, provider_id, id) where provider_id is not null;
    create index audit_events_path on audit_events (workspace_id, provider_id, path) where provider_id is not null;
    create index audit_events_to_provider on audit_events (workspace_id, to_provider_id, id) where to_provider_id is not null;
    create index audit_events_to_path on audit_events (workspace_id, to_provider_id, to_path) where to_provider_id is not null;
    create index audit_events_action on audit_events (workspace_id, action, id);
    create index audit_events_failure on audit_events (workspace_id, result, id) where result <> 'OK';
  `
  for (const statement of statements.split(';')) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
