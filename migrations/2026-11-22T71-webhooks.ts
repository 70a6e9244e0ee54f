import { type Kysely, sql } from 'kysely'

/**
 * Webhooks, and the outbox of their deliveries. A trigger fills the outbox in the transaction that writes an audit event, so an
 * event is delivered if and only if it is recorded. A delivery that is done or has failed for the last time has `ended_at`. The
 * deliveries of a disabled webhook wait until "infinity".
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table webhooks (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null,
      credential_kind text not null check (credential_kind in ('SESSION', 'API_KEY')),
      credential_id uuid not null,
      name text not null,
      url text not null,
      actions text[] not null,
      provider_id uuid,
      path text,
      secrets bytea not null,
      is_enabled boolean not null default true,
      error text,
      created_at timestamptz not null default now(),
      check ((provider_id is null) = (path is null))
    );
    create index webhooks_workspace on webhooks (workspace_id, id);
    create table webhook_deliveries (
      webhook_id uuid not null references webhooks on delete cascade,
      id uuid not null,
      action text not null,
      event jsonb not null,
      state text not null default 'PENDING' check (state in ('PENDING', 'DELIVERED', 'FAILED')),
      attempts integer not null default 0,
      next_attempt_at timestamptz not null default now(),
      claim_id uuid,
      status integer,
      error text,
      ended_at timestamptz,
      primary key (webhook_id, id)
    );
    create index webhook_deliveries_due on webhook_deliveries (next_attempt_at) where ended_at is null;
    create index webhook_deliveries_state on webhook_deliveries (webhook_id, ended_at, id);
    create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
  await sql`
    create function is_within(path text, folder text) returns boolean language sql immutable as $$
      select folder = '/' or path = folder or starts_with(path, folder || '/')
    $$`.execute(db)
  await sql`
    create function enqueue_webhooks() returns trigger language plpgsql as $$
    begin
      insert into webhook_deliveries (webhook_id, id, action, event)
      select w.id, e.id, e.action, jsonb_build_object(
          'at', e.at, 'result', e.result, 'userId', e.user_id, 'userName', e.user_name, 'userEmail', e.user_email,
          'credentialKind', e.credential_kind, 'credentialId', e.credential_id,
          'providerId', e.provider_id, 'providerName', e.provider_name, 'path', e.path,
          'toProviderId', e.to_provider_id, 'toProviderName', e.to_provider_name, 'toPath', e.to_path,
          'subjectKind', e.subject_kind, 'subjectId', e.subject_id, 'bytes', e.bytes,
          'details', case when e.action = 'JOB_END' then e.details else '{}' end)
      from new_events e join webhooks w on w.workspace_id = e.workspace_id
      where w.is_enabled and e.action = any(w.actions) and (e.result = 'OK' or e.action = 'JOB_END')
        and (w.provider_id is null
          or (w.provider_id = e.provider_id and is_within(coalesce(e.path, '/'), w.path))
          or (w.provider_id = e.to_provider_id and is_within(coalesce(e.to_path, '/'), w.path)));
      return null;
    end $$`.execute(db)
  await sql`
    create trigger audit_events_webhooks after insert on audit_events referencing new table as new_events
      for each statement execute function enqueue_webhooks()`.execute(db)
}
