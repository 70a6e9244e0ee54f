import { type Kysely, sql } from 'kysely'

/**
 * Jobs that keep copies of a folder in other storages. `kept_files` has what the original and a copy agreed on, and the versions that both
 * had then. Of a storage whose configuration changes, nothing is known any more.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table jobs drop constraint jobs_kind_check`.execute(db)
  await sql`
    alter table jobs
      add constraint jobs_kind_check check (kind in (
        'COPY', 'MOVE', 'DELETE', 'SYNC', 'CHECKSUM', 'VERIFY', 'RESTORE', 'KEEP_COPIES')),
      add column keeping jsonb,
      add column checks jsonb`.execute(db)
  await sql`alter table job_entries add column finding json`.execute(db)
  await sql`
    create table kept_folders (
      id integer generated always as identity primary key,
      key bytea not null unique check (octet_length(key) = 32),
      original_provider_id uuid not null references providers on delete cascade,
      original_path text collate "C" not null,
      provider_id uuid not null references providers on delete cascade,
      path text collate "C" not null,
      used_at timestamptz not null default now()
    )`.execute(db)
  await sql`create index kept_folders_original on kept_folders (original_provider_id)`.execute(db)
  await sql`create index kept_folders_copy on kept_folders (provider_id)`.execute(db)
  await sql`
    create table kept_files (
      size bigint not null,
      original_modified_at timestamptz,
      modified_at timestamptz,
      checked_at timestamptz not null default now(),
      kept_folder integer not null references kept_folders on delete cascade,
      is_deleted boolean not null default false,
      folder text collate "C" not null check (octet_length(folder) <= 1536),
      name text collate "C" not null check (octet_length(name) <= 1024),
      original_etag text,
      original_content_tag text,
      etag text,
      content_tag text,
      sha256 bytea not null check (octet_length(sha256) = 32),
      primary key (kept_folder, folder, name)
    )`.execute(db)
  await sql`
    create or replace function forget_contents() returns trigger language plpgsql as $$
    begin
      delete from content_checksums where provider_id = new.id;
      delete from kept_folders where new.id in (original_provider_id, provider_id);
      return null;
    end $$`.execute(db)
  await sql`
    create or replace function note_catalogue_changes() returns trigger language plpgsql as $$
    begin
      insert into catalogue_changes (catalogue, kind, path)
      select c.id, x.kind, substr(x.path, 2)
      from new_events e
      cross join lateral (
        select e.provider_id, e.path, case when e.action = 'FOLDER_CREATE' and e.result = 'OK' then 'CREATED' else 'ENTRY' end
          where e.action in ('UPLOAD', 'FOLDER_CREATE', 'RENAME', 'MOVE', 'DELETE', 'RESTORE')
        union all
        select e.to_provider_id, e.to_path, 'ENTRY' where e.action in ('RENAME', 'MOVE', 'COPY')
      ) as x (provider_id, path, kind)
      join catalogues c on c.provider_id = x.provider_id
      where e.result in ('OK', 'CUT', 'INTERNAL', 'UNAVAILABLE', 'BACK_END_FAULT', 'BACK_END_RATE_LIMITED', 'INCOMPLETE_BODY',
          'QUOTA_EXCEEDED', 'DIGEST_MISMATCH', 'COPY_ONLY', 'NOT_FOUND')
        and octet_length(x.path) <= 2001
        and c.mode <> 'OFF' and c.followed_at > now() - interval '10 minutes'
      order by e.id;
      if not exists (select from new_events where action = 'JOB_END') then
        return null;
      end if;
      insert into catalogue_changes (catalogue, kind, path)
      select c.id, x.kind, substr(x.path, 2)
      from new_events e
      join jobs j on j.id = case when e.action = 'JOB_END' then e.subject_id::uuid end
      cross join lateral (
        select (s->>'providerId')::uuid, s->>'path', 'ENTRY'
          from jsonb_array_elements(j.sources) s where j.kind in ('MOVE', 'DELETE', 'RESTORE', 'KEEP_COPIES')
        union all
        select (j.target->>'providerId')::uuid,
            rtrim(j.target->>'path', '/') || rtrim('/' || coalesce(j.target->>'name', substring(s->>'path', '[^/]*$')), '/'),
            'ENTRY'
          from jsonb_array_elements(j.sources) s where j.target is not null
        union all
        select (j.target->>'providerId')::uuid, j.target->>'path', 'FOLDER' where j.target is not null and j.conflict = 'RENAME'
      ) as x (provider_id, path, kind)
      join catalogues c on c.provider_id = x.provider_id
      where not j.dry_run and octet_length(x.path) <= 2001
        and c.mode <> 'OFF' and c.followed_at > now() - interval '10 minutes'
      order by e.id;
      return null;
    end $$`.execute(db)
}
