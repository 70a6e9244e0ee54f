/**
 * The statements of all steps up to `lastOfBaseline`, which create a new database in one round trip. Steps that come later run after it.
 * `node test/db/migrate.test.ts --update` writes this file, and the test compares its database with that of the steps.
 */
export const baseline = `
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
create table oauth_states (
      state_hash bytea primary key,
      provider_id uuid not null references providers on delete cascade,
      workspace_id uuid not null,
      user_id uuid not null,
      sealed bytea not null,
      expires_at timestamptz not null,
      foreign key (workspace_id, user_id) references members on delete cascade
    );
create index oauth_states_provider_id on oauth_states (provider_id);
create index oauth_states_member on oauth_states (workspace_id, user_id);
create index oauth_states_expires_at on oauth_states (expires_at);
create table provider_tokens (
      provider_id uuid primary key references providers on delete cascade,
      sealed bytea not null,
      expires_at timestamptz not null
    );
create unlogged table rate_limits (
      key bytea primary key,
      hits integer not null,
      ends_at timestamptz not null
    );
create index rate_limits_ends_at on rate_limits (ends_at);
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
create table idempotent_uploads (
      credential_id uuid not null,
      key_hash bytea not null,
      fingerprint bytea not null,
      attempt uuid not null,
      held_until timestamptz not null,
      answer jsonb,
      created_at timestamptz not null default now(),
      primary key (credential_id, key_hash)
    );
create index idempotent_uploads_created_at on idempotent_uploads (created_at);
alter table provider_tokens add column refreshing_until timestamptz;
drop index audit_events_path;
drop index audit_events_to_path;
create index audit_events_path on audit_events (workspace_id, provider_id, left(path, 250))
      where provider_id is not null;
create index audit_events_to_path on audit_events (workspace_id, to_provider_id, left(to_path, 250))
      where to_provider_id is not null;
alter table audit_events
      add constraint audit_events_action_length check (octet_length(action) <= 64) not valid,
      add constraint audit_events_result_length check (octet_length(result) <= 64) not valid;
alter table users add constraint users_email_key_length check (octet_length(email_key) <= 1024) not valid;
alter table api_keys add constraint api_keys_key_hash_length check (octet_length(key_hash) = 32) not valid;
alter table invites add constraint invites_token_hash_length check (octet_length(token_hash) = 32) not valid;
alter table oauth_states add constraint oauth_states_state_hash_length check (octet_length(state_hash) = 32) not valid;
alter table rate_limits add constraint rate_limits_key_length check (octet_length(key) = 32) not valid;
alter table idempotent_uploads
      add constraint idempotent_uploads_key_hash_length check (octet_length(key_hash) = 32) not valid;
alter table uploads add constraint uploads_id_length check (octet_length(id) <= 64) not valid;
alter table upload_chunks
      add constraint upload_chunks_upload_id_length check (octet_length(upload_id) <= 64) not valid;
create unlogged table locks (
      key bytea primary key,
      holder uuid not null,
      ends_at timestamptz not null
    );
alter table locks add constraint locks_key_length check (octet_length(key) = 32) not valid;
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
create function notify_of_job() returns trigger language plpgsql as $$
    begin
      perform pg_notify('stowage_jobs', new.id::text);
      return null;
    end $$;
create trigger jobs_created after insert on jobs for each row execute function notify_of_job();
create trigger jobs_changed after update on jobs for each row
      when (old.state is distinct from new.state or old.lease_until is distinct from new.lease_until)
      execute function notify_of_job();
alter table providers
      add column job_files_at_once integer not null default 16 check (job_files_at_once between 1 and 128),
      add column job_bytes_per_second bigint check (job_bytes_per_second >= 65536);
alter table job_entries
      add column reason text,
      add column message text,
      add column has_skipped boolean not null default false,
      drop constraint job_entries_state_check,
      add constraint job_entries_state_check
        check (state in ('SOURCE', 'FILE', 'FOLDER', 'EXTRA', 'LISTED', 'KEPT'));
insert into job_entries (job_id, state, provider_id, path, target_path, depth, is_started, reason, message)
      select job_id, state, provider_id, path, target_path, depth, true, reason, message from job_failures order by id;
drop table job_failures;
create index job_entries_failed on job_entries (job_id, id) where reason is not null;
create index job_entries_left on job_entries (job_id, left(path, 400) collate "C")
      where reason is not null or state = 'KEPT';
create table schedules (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null,
      credential_kind text not null check (credential_kind in ('SESSION', 'API_KEY')),
      credential_id uuid not null,
      name text not null,
      cron text not null,
      time_zone text not null,
      job jsonb not null,
      next_run_at timestamptz,
      error_reason text,
      error_message text,
      last_job_id uuid,
      last_skipped_at timestamptz,
      claim_id uuid,
      claimed_until timestamptz,
      created_at timestamptz not null default now()
    );
create index schedules_workspace on schedules (workspace_id, id);
create index schedules_owner on schedules (workspace_id, user_id);
create index schedules_due on schedules (next_run_at) where next_run_at is not null;
create function notify_of_entries() returns trigger language plpgsql as $$
    begin
      perform pg_notify('stowage_entries', string_agg(id::text, ','))
      from (
        select id, (row_number() over (order by id) - 1) / 200 as part from new_events
        where (result = 'OK' or action = 'JOB_END') and action in ('UPLOAD', 'FOLDER_CREATE', 'RENAME', 'MOVE', 'COPY',
          'DELETE', 'JOB_END')
      ) as e
      group by part;
      return null;
    end $$;
create trigger audit_events_entries after insert on audit_events referencing new table as new_events
      for each statement execute function notify_of_entries();
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
create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null;
create function is_within(path text, folder text) returns boolean language sql immutable as $$
      select folder = '/' or path = folder or starts_with(path, folder || '/')
    $$;
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
    end $$;
create trigger audit_events_webhooks after insert on audit_events referencing new table as new_events
      for each statement execute function enqueue_webhooks();
alter table jobs
      add column is_atomic boolean not null default false,
      add column outcome text check (outcome in ('KEEP', 'UNDO'));
alter table job_entries
      add column copied json,
      drop constraint job_entries_state_check,
      add constraint job_entries_state_check
        check (state in ('SOURCE', 'FILE', 'FOLDER', 'EXTRA', 'LISTED', 'KEPT', 'COPIED'));
alter table providers add column slug text collate "C";
select id, workspace_id, name from providers order by created_at, id;
alter table providers
      alter column slug set not null,
      add constraint providers_slug_check
        check (slug ~ '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$' and octet_length(slug) <= 63),
      add constraint providers_workspace_slug unique (workspace_id, slug);
create table webdav_locks (
      token uuid primary key,
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      workspace_id uuid not null,
      user_id uuid not null,
      is_exclusive boolean not null,
      is_deep boolean not null,
      owner text not null,
      expires_at timestamptz not null,
      foreign key (workspace_id, user_id) references members on delete cascade
    );
create index webdav_locks_path on webdav_locks (provider_id, left(path, 400) collate "C");
create index webdav_locks_member on webdav_locks (workspace_id, user_id);
create index webdav_locks_expiry on webdav_locks (expires_at);
create table webdav_properties (
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      name text not null,
      xml text not null
    );
create unique index webdav_properties_name on webdav_properties (provider_id, md5(path), md5(name));
create index webdav_properties_path on webdav_properties (provider_id, left(path, 400) collate "C");
alter table uploads
      add column is_multipart boolean not null default false,
      add column appended_parts integer not null default 0;
create table upload_parts (
      upload_id text not null references uploads on delete cascade check (octet_length(upload_id) <= 64),
      number integer not null check (number between 1 and 10000),
      size bigint not null check (size >= 0),
      md5 bytea not null,
      content uuid,
      stored_at timestamptz not null default now(),
      primary key (upload_id, number)
    );
create table upload_part_chunks (
      upload_id text not null references uploads on delete cascade check (octet_length(upload_id) <= 64),
      content uuid not null,
      position bigint not null,
      bytes bytea not null,
      primary key (upload_id, content, position)
    );
alter table upload_part_chunks alter column bytes set storage external;
alter table sessions
      add column address text check (octet_length(address) <= 200),
      add column user_agent text check (octet_length(user_agent) <= 1000);
alter table invites add column note text check (octet_length(note) <= 1000);
create table password_resets (
      user_id uuid primary key references users on delete cascade,
      workspace_id uuid not null references workspaces on delete cascade,
      token_hash bytea not null unique check (octet_length(token_hash) = 32),
      created_by uuid not null references users on delete cascade,
      expires_at timestamptz not null
    );
create index password_resets_workspace_id on password_resets (workspace_id);
create index password_resets_created_by on password_resets (created_by);
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
      add constraint uploads_credential_kind_check check (credential_kind in ('SESSION', 'API_KEY', 'SHARE'));
alter table audit_events
      drop constraint audit_events_credential_kind_check,
      add constraint audit_events_credential_kind_check check (credential_kind in ('SESSION', 'API_KEY', 'SHARE'));
create table share_claims (
      id uuid primary key,
      share_id uuid not null references shares on delete cascade,
      bytes bigint not null check (bytes >= 0),
      lapses_at timestamptz not null
    );
create index share_claims_share_id on share_claims (share_id);
create index share_claims_lapses_at on share_claims (lapses_at);
alter table shares add column notify boolean not null default false;
create table share_emails (
      id uuid primary key,
      share_id uuid not null references shares on delete cascade,
      recipient text,
      files integer not null default 0,
      bytes bigint not null default 0,
      attempts integer not null default 0,
      next_attempt_at timestamptz not null default now(),
      claim_id uuid
    );
create index share_emails_share_id on share_emails (share_id);
create unique index share_emails_collecting on share_emails (share_id) where recipient is null and claim_id is null;
create index share_emails_due on share_emails (next_attempt_at);
create function collect_arrivals() returns trigger language plpgsql as $$
    begin
      insert into share_emails (id, share_id, files, bytes, next_attempt_at)
      select gen_random_uuid(), s.id, count(*), coalesce(sum(e.bytes), 0), now() + interval '5 minutes'
      from new_events e join shares s on s.id = e.credential_id
      where e.credential_kind = 'SHARE' and e.action = 'UPLOAD' and e.result = 'OK' and s.notify
      group by s.id order by s.id
      on conflict (share_id) where recipient is null and claim_id is null
      do update set files = share_emails.files + excluded.files, bytes = share_emails.bytes + excluded.bytes;
      return null;
    end $$;
create trigger audit_events_arrivals after insert on audit_events referencing new table as new_events
      for each statement execute function collect_arrivals();
alter table providers add column trash_days smallint check (trash_days between 0 and 3650);
alter table jobs add column permanent boolean not null default true;
create table trash_items (
      id uuid primary key,
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      kind text not null check (kind in ('file', 'directory')),
      size bigint,
      native_id text,
      state text not null check (state in ('TRASHING', 'TRASHED', 'RESTORING', 'REMOVING')),
      user_id uuid not null,
      job_id uuid,
      restored_to text,
      deleted_at timestamptz not null default now(),
      expires_at timestamptz not null,
      due_at timestamptz not null
    );
create index trash_items_listed on trash_items (provider_id, id);
create index trash_items_due on trash_items (due_at);
create index trash_items_job on trash_items (job_id) where job_id is not null;
create or replace function notify_of_entries() returns trigger language plpgsql as $$
    begin
      perform pg_notify('stowage_entries', string_agg(id::text, ','))
      from (
        select id, (row_number() over (order by id) - 1) / 200 as part from new_events
        where (result = 'OK' or action = 'JOB_END') and action in ('UPLOAD', 'FOLDER_CREATE', 'RENAME', 'MOVE', 'COPY',
          'DELETE', 'RESTORE', 'JOB_END')
      ) as e
      group by part;
      return null;
    end $$;
alter table uploads
      add column modified_at timestamptz,
      add column has_native_parts boolean not null default false;
alter table upload_parts add column tag text;
alter table uploads add column waiting bigint not null default 0;
update uploads set waiting = c.bytes
    from (select upload_id, sum(octet_length(bytes)) as bytes from upload_part_chunks group by upload_id) c
    where c.upload_id = uploads.id;
alter table jobs add column taken_at timestamptz;
create index jobs_taken_at on jobs (workspace_id, user_id, taken_at);
alter table members add column is_confirmed boolean not null default false;
update members set is_confirmed = true where role <> 'NONE';
create table rights_counter (
      is_only boolean primary key default true check (is_only),
      counter bigint not null,
      epoch text not null,
      began_at timestamptz not null
    );
create table rights_readers (
      id uuid primary key,
      seen bigint not null,
      epoch text not null,
      renewed_at timestamptz not null
    );
create table rights_changes (
      id uuid primary key default gen_random_uuid()
    );
create function rights_epoch() returns text language sql stable as $$
      select 'rights_counter'::regclass::oid::text || '/' || extract(epoch from pg_postmaster_start_time())::text
    $$;
insert into rights_counter (counter, epoch, began_at) values (0, rights_epoch(), '-infinity');
create function note_change_of_rights() returns void language plpgsql as $$
    begin
      if current_setting('stowage.rights_changed_in', true) is distinct from pg_current_xact_id()::text then
        perform set_config('stowage.rights_changed_in', pg_current_xact_id()::text, true);
        insert into rights_changes default values;
      end if;
    end $$;
create function rights_change() returns trigger language plpgsql as $$
    begin
      perform note_change_of_rights();
      return null;
    end $$;
create function sessions_rights_change() returns trigger language plpgsql as $$
    begin
      if exists (select from old_rows where revoked_at is null and expires_at > now()) then
        perform note_change_of_rights();
      end if;
      return null;
    end $$;
create function webdav_locks_rights_change() returns trigger language plpgsql as $$
    begin
      if exists (
        select from new_rows where not exists (
          select from webdav_locks l where l.provider_id = new_rows.provider_id
            and l.expires_at > now() + interval '5 minutes' and l.token not in (select token from new_rows)
        )
      ) then
        perform note_change_of_rights();
      end if;
      return null;
    end $$;
create function raise_rights_counter() returns trigger language plpgsql as $$
    declare
      raised bigint;
    begin
      delete from rights_changes where id = new.id;
      update rights_counter set counter = counter + 1, epoch = rights_epoch(),
        began_at = case when epoch = rights_epoch() then began_at else clock_timestamp() end
        returning counter into raised;
      perform pg_notify('rights', raised::text);
      return null;
    end $$;
create constraint trigger rights_changes_count after insert on rights_changes deferrable initially deferred
      for each row execute function raise_rights_counter();
create trigger sessions_rights_deleted after delete on sessions referencing old table as old_rows
      for each statement execute function sessions_rights_change();
create trigger webdav_locks_rights_created after insert on webdav_locks referencing new table as new_rows
      for each statement execute function webdav_locks_rights_change();
create trigger users_rights_changed after update of email, name on users for each statement execute function rights_change();
create trigger users_rights_truncated after truncate on users for each statement execute function rights_change();
create trigger users_rights_deleted after delete on users for each statement execute function rights_change();
create trigger members_rights_changed after update of workspace_id, user_id, role, provider_access on members for each statement execute function rights_change();
create trigger members_rights_truncated after truncate on members for each statement execute function rights_change();
create trigger members_rights_deleted after delete on members for each statement execute function rights_change();
create trigger sessions_rights_changed after update of workspace_id, user_id, expires_at, revoked_at on sessions for each statement execute function rights_change();
create trigger sessions_rights_truncated after truncate on sessions for each statement execute function rights_change();
create trigger api_keys_rights_changed after update of workspace_id, user_id, name, key_hash, scopes, provider_access, expires_at, revoked_at on api_keys for each statement execute function rights_change();
create trigger api_keys_rights_truncated after truncate on api_keys for each statement execute function rights_change();
create trigger api_keys_rights_deleted after delete on api_keys for each statement execute function rights_change();
create trigger shares_rights_changed after update of workspace_id, user_id, credential_kind, credential_id, kind, provider_id, paths, is_folder, token_hash, token,
      password_hash, note, expires_at, max_downloads, max_bytes, file_types, notify, revoked_at on shares for each statement execute function rights_change();
create trigger shares_rights_truncated after truncate on shares for each statement execute function rights_change();
create trigger shares_rights_deleted after delete on shares for each statement execute function rights_change();
create trigger providers_rights_changed after update of workspace_id, slug, version on providers for each statement execute function rights_change();
create trigger providers_rights_truncated after truncate on providers for each statement execute function rights_change();
create trigger providers_rights_deleted after delete on providers for each statement execute function rights_change();
alter table webdav_locks rename to entry_locks;
alter table webdav_properties rename to entry_properties;
alter index webdav_locks_path rename to entry_locks_path;
alter index webdav_locks_member rename to entry_locks_member;
alter index webdav_locks_expiry rename to entry_locks_expiry;
alter index webdav_locks_pkey rename to entry_locks_pkey;
alter index webdav_properties_name rename to entry_properties_name;
alter index webdav_properties_path rename to entry_properties_path;
alter table entry_locks rename constraint webdav_locks_provider_id_fkey to entry_locks_provider_id_fkey;
alter table entry_locks rename constraint webdav_locks_workspace_id_user_id_fkey to entry_locks_workspace_id_user_id_fkey;
alter table entry_properties rename constraint webdav_properties_provider_id_fkey to entry_properties_provider_id_fkey;
alter trigger webdav_locks_rights_created on entry_locks rename to entry_locks_rights_created;
alter function webdav_locks_rights_change() rename to entry_locks_rights_change;
create or replace function entry_locks_rights_change() returns trigger language plpgsql as $$
    begin
      if exists (
        select from new_rows where not exists (
          select from entry_locks l where l.provider_id = new_rows.provider_id
            and l.expires_at > now() + interval '5 minutes' and l.token not in (select token from new_rows)
        )
      ) then
        perform note_change_of_rights();
      end if;
      return null;
    end $$
`
