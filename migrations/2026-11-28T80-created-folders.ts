import { type Kysely, sql } from 'kysely'

/**
 * A folder that was created through this server is empty, so its change is of a kind of its own, CREATED, which needs no walk. What a job
 * RESTORE has changed is looked at, as for other jobs. Events that are not of jobs do not look for one, and a change has one index less.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table catalogue_changes
      drop constraint catalogue_changes_kind_check,
      add constraint catalogue_changes_kind_check
        check (kind in ('ENTRY', 'CREATED', 'REMOVED', 'MOVED', 'FOLDER', 'TREE'))`.execute(db)
  await sql`drop index catalogue_changes_next`.execute(db)
  await sql`
    alter table catalogue_changes drop constraint catalogue_changes_pkey, add primary key (catalogue, id)`.execute(db)
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
          from jsonb_array_elements(j.sources) s where j.kind in ('MOVE', 'DELETE', 'RESTORE')
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
