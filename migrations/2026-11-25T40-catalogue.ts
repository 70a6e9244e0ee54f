import { type Kysely, sql } from 'kysely'

/**
 * The catalogue: one row for each entry of each provider, for the search. `catalogues` has the state of each provider, and
 * `catalogue_changes` the changes that are not in the catalogue yet. Rows refer to a catalogue by a short number and without a foreign
 * key, so that a provider of ten million entries is disconnected at once and its rows are removed later.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table catalogues (
      id integer generated always as identity primary key,
      provider_id uuid unique references providers on delete set null,
      mode text not null default 'NAMES' check (mode in ('OFF', 'NAMES', 'CONTENT')),
      entries bigint not null default 0,
      round_started_at timestamptz,
      round_next text collate "C",
      round_has_gaps boolean not null default false,
      round_is_first boolean not null default false,
      next_round_at timestamptz not null default now(),
      indexed_at timestamptz,
      has_gaps boolean not null default false,
      failures integer not null default 0,
      failure text,
      retry_at timestamptz,
      followed_at timestamptz,
      claimed_at timestamptz not null default now(),
      lease_id uuid,
      lease_until timestamptz
    )`.execute(db)
  // The fixed columns come first and in this order, which saves padding in ten million rows.
  await sql`
    create table catalogue_entries (
      size bigint,
      modified_at timestamptz,
      file_id uuid,
      catalogue integer not null,
      is_folder boolean not null,
      path text collate "C" not null check (octet_length(path) <= 2000),
      name text collate "C" not null,
      etag text,
      checksums jsonb,
      grams integer[] not null,
      primary key (catalogue, path)
    )`.execute(db)
  await sql`create index catalogue_entries_folders on catalogue_entries (catalogue, path) where is_folder`.execute(db)
  await sql`create index catalogue_entries_grams on catalogue_entries using gin (grams)`.execute(db)
  await sql`
    create table catalogue_changes (
      id bigint generated always as identity primary key,
      catalogue integer not null,
      kind text not null check (kind in ('ENTRY', 'REMOVED', 'MOVED', 'FOLDER', 'TREE')),
      path text collate "C" not null check (octet_length(path) <= 2000),
      to_path text collate "C" check (octet_length(to_path) <= 2000),
      next text collate "C"
    )`.execute(db)
  await sql`create index catalogue_changes_next on catalogue_changes (catalogue, id)`.execute(db)
  await sql`
    create index catalogue_changes_hidden on catalogue_changes (catalogue) where kind in ('REMOVED', 'MOVED')`.execute(
    db,
  )
  await sql`
    create table catalogue_servers (
      id uuid primary key,
      renewed_at timestamptz not null
    )`.execute(db)

  await sql`
    create function create_catalogue() returns trigger language plpgsql as $$
    begin
      insert into catalogues (provider_id) values (new.id);
      return null;
    end $$`.execute(db)
  await sql`
    create trigger providers_catalogue_created after insert on providers for each row execute function create_catalogue()`.execute(
    db,
  )
  // Another back end has other entries, so the provider gets another catalogue, and the rows of the earlier one are removed.
  await sql`
    create function replace_catalogue() returns trigger language plpgsql as $$
    declare
      earlier text;
    begin
      update catalogues set provider_id = null where provider_id = new.id returning mode into earlier;
      insert into catalogues (provider_id, mode) values (new.id, coalesce(earlier, 'NAMES'));
      return null;
    end $$`.execute(db)
  await sql`
    create trigger providers_catalogue_replaced after update of config, status on providers for each row
      when (old.config is distinct from new.config
        or (old.status in ('NEEDS_AUTHORIZATION', 'NEEDS_RECONNECT') and new.status = 'CONNECTED'))
      execute function replace_catalogue()`.execute(db)
  await sql`insert into catalogues (provider_id) select id from providers`.execute(db)

  // A server that was away for longer compares everything, so the changes of that time are not kept.
  await sql`
    create function note_catalogue_changes() returns trigger language plpgsql as $$
    begin
      insert into catalogue_changes (catalogue, kind, path)
      select c.id, x.kind, substr(x.path, 2)
      from new_events e
      cross join lateral (
        select e.provider_id, e.path, 'ENTRY'
          where e.action in ('UPLOAD', 'FOLDER_CREATE', 'RENAME', 'MOVE', 'DELETE', 'RESTORE')
        union all
        select e.to_provider_id, e.to_path, 'ENTRY' where e.action in ('RENAME', 'MOVE', 'COPY')
        union all
        select (s->>'providerId')::uuid, s->>'path', 'ENTRY'
          from jobs j cross join jsonb_array_elements(j.sources) s
          where j.id = case when e.action = 'JOB_END' then e.subject_id::uuid end
            and j.kind in ('MOVE', 'DELETE') and not j.dry_run
        union all
        select (j.target->>'providerId')::uuid,
            rtrim(j.target->>'path', '/') || rtrim('/' || coalesce(j.target->>'name', substring(s->>'path', '[^/]*$')), '/'),
            'ENTRY'
          from jobs j cross join jsonb_array_elements(j.sources) s
          where j.id = case when e.action = 'JOB_END' then e.subject_id::uuid end
            and j.target is not null and not j.dry_run
        union all
        select (j.target->>'providerId')::uuid, j.target->>'path', 'FOLDER'
          from jobs j
          where j.id = case when e.action = 'JOB_END' then e.subject_id::uuid end
            and j.target is not null and j.conflict = 'RENAME' and not j.dry_run
      ) as x (provider_id, path, kind)
      join catalogues c on c.provider_id = x.provider_id
      where (e.action = 'JOB_END' or e.result in ('OK', 'CUT', 'INTERNAL', 'UNAVAILABLE', 'BACK_END_FAULT',
          'BACK_END_RATE_LIMITED', 'INCOMPLETE_BODY', 'QUOTA_EXCEEDED', 'DIGEST_MISMATCH', 'COPY_ONLY', 'NOT_FOUND'))
        and octet_length(x.path) <= 2001
        and c.mode <> 'OFF' and c.followed_at > now() - interval '10 minutes'
      order by e.id;
      return null;
    end $$`.execute(db)
  await sql`
    create trigger audit_events_catalogue after insert on audit_events referencing new table as new_events
      for each statement execute function note_catalogue_changes()`.execute(db)
}
