import { type Kysely, sql } from 'kysely'

/**
 * A change whose outcome is doubtful stays until a server has looked at the back end: one that failed, one that was interrupted, and one
 * that ran at the same time as another change of the same path, because the database does not know in which order the back end made them.
 * Kept versions are files of quotas from the moment when they are listed. Paths end with "/".
 *
 * Statements lock in this order: the workspace, providers, uploads, changes, files by the hashes of their paths, and rules by their ids.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table quota_changes add column source_path text;
    alter table quota_changes add column stored_size bigint;
    alter table quota_changes add column begun_at timestamptz not null default now();
    create index quota_changes_running on quota_changes (provider_id) where due_at is not null;
    alter table quota_counts add column wanted_at timestamptz;
    alter table file_versions add column charged_to uuid;
    drop function reserve_quota(quota_request[], interval);
    drop type quota_request;
    drop function end_quota_removal(text, uuid, text);
    drop function end_quota_move(text, uuid, uuid, text, text, boolean, bigint);
    create type quota_request as (
      id text, provider_id uuid, workspace_id uuid, user_id uuid, path text, source_path text, is_tree boolean,
      bytes bigint, adds boolean, files bigint, keeps_replaced boolean, is_final boolean, upload_id text, holder uuid
    );
    create type quota_end as (
      id text, provider_id uuid, workspace_id uuid, user_id uuid, path text, source_path text, is_tree boolean, size bigint
    )`
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)

  // A new rule takes the lock alone while it sums what exists. Rules whose sums stay the same are not locked.
  const charging = (rows: string) => `
    declare
      ids uuid[];
      bytes bigint[];
      files bigint[];
    begin
      perform pg_advisory_xact_lock_shared(hashtextextended('quotas ' || w.workspace_id, 0))
      from (select distinct workspace_id from (${rows}) f order by workspace_id) w;
      select array_agg(s.id), array_agg(s.bytes), array_agg(s.files) into ids, bytes, files from (
        select r.id, sum(f.bytes)::bigint as bytes, sum(f.files)::bigint as files
        from (${rows}) f join quota_rules r on r.workspace_id = f.workspace_id
          and (r.user_id = f.user_id or (r.provider_id = f.provider_id and starts_with(f.charged_path, r.path)))
        group by r.id having sum(f.bytes) <> 0 or sum(f.files) <> 0
      ) s;
      if ids is null then return null; end if;
      perform from quota_rules where id = any(ids) order by id for update;
      update quota_rules r set used_bytes = r.used_bytes + u.bytes, used_files = r.used_files + u.files
      from unnest(ids, bytes, files) u (id, bytes, files) where r.id = u.id;
      return null;
    end`
  const added = 'select workspace_id, provider_id, user_id, charged_path, size as bytes, 1 as files from added'
  const removed = 'select workspace_id, provider_id, user_id, charged_path, -size as bytes, -1 as files from removed'
  const triggers = { insert: added, delete: removed, update: `${added} union all ${removed}` }
  for (const [event, rows] of Object.entries(triggers)) {
    await sql
      .raw(
        `create or replace function quota_files_${event}() returns trigger language plpgsql as $$${charging(rows)}$$`,
      )
      .execute(db)
  }

  await sql.raw(reserveQuota).execute(db)
  for (const definition of endings) await sql.raw(definition).execute(db)
  for (const definition of versions) await sql.raw(definition).execute(db)
}

const within = (path: string, of = '') => `(${of}provider_id = e.provider_id
  and left(${of}path, 400) collate "C" between left(${path}, 400) and left(left(${path}, -1) || '0', 400)
  and starts_with(${of}path, ${path}))`

/**
 * Reserves for each request what it needs, or nothing at all. Returns the rules that refuse, with the positions of their requests, and
 * without a rule the requests that need less because they replace a file. A file that stays as a version gives nothing back. What moves
 * needs nothing in the rules that it counts against already. While another change of the same path has not ended, a file that is about to
 * appear needs all of its size: either of them could take away what the other one counts on. A request whose provider or upload is gone
 * reserves nothing.
 */
const reserveQuota = `
  create function reserve_quota(requests quota_request[], lease interval)
    returns table (request_number integer, rule_id uuid, left_bytes bigint, left_files bigint) language plpgsql as $$
  declare
    e quota_request;
    number integer := 0;
    rule quota_rules;
    before quota_changes;
    replaced quota_files;
    total bigint;
    ids uuid[];
    bytes bigint[];
    files bigint[];
    is_known boolean;
    is_counted boolean;
    is_contended boolean;
    is_refused boolean;
    has_credit boolean;
    need_bytes bigint;
    need_files bigint;
    had_bytes bigint;
    had_files bigint;
  begin
    perform from providers where id in (select q.provider_id from unnest(requests) q) order by id for key share;
    perform from uploads where id in (select q.upload_id from unnest(requests) q) order by id for key share;
    perform from quota_changes where id in (select q.id from unnest(requests) q) order by id for update;
    perform from quota_rules r where exists (
      select from unnest(requests) q where r.workspace_id = q.workspace_id
        and (r.user_id = q.user_id or (r.provider_id = q.provider_id and starts_with(q.path, r.path)))
    ) order by r.id for update;
    foreach e in array requests loop
      number := number + 1;
      continue when not exists (select from providers p where p.id = e.provider_id)
        or (e.upload_id is not null and not exists (select from uploads u where u.id = e.upload_id));
      before := null;
      replaced := null;
      select c.* into before from quota_changes c where c.id = e.id;
      is_contended := e.is_final and not e.is_tree and exists (
        select from quota_changes c where c.provider_id = e.provider_id and c.id <> e.id and c.due_at is not null
          and quota_paths_meet(c.path, c.source_path, c.is_tree, e.path, e.source_path, e.is_tree));
      if not e.keeps_replaced and not is_contended then
        select f.* into replaced from quota_files f where f.provider_id = e.provider_id and md5(f.path) = md5(e.path)
          and f.path = e.path;
      end if;
      is_known := e.source_path is not null and not is_contended
        and exists (select from quota_files f where ${within('e.source_path', 'f.')});
      total := case when e.adds then coalesce(before.bytes, 0) + e.bytes else greatest(coalesce(before.bytes, 0), e.bytes) end;
      ids := '{}';
      bytes := '{}';
      files := '{}';
      is_refused := false;
      has_credit := false;
      for rule in select r.* from quota_rules r where r.workspace_id = e.workspace_id
        and ((r.user_id = e.user_id and e.source_path is null)
          or (r.provider_id = e.provider_id and starts_with(e.path, r.path)))
        order by r.id
      loop
        need_bytes := total;
        need_files := e.files;
        if is_known then
          -- Only what is in the trash counts elsewhere than where it is.
          select coalesce(sum(f.size), 0), count(*) into need_bytes, need_files from quota_files f
          where ${within('e.source_path', 'f.')} and not starts_with(f.charged_path, rule.path)
            and (not starts_with(e.source_path, rule.path) or starts_with(e.source_path, '/.stowage-trash/'));
        elsif not is_contended and starts_with(e.source_path, rule.path) then
          need_bytes := 0;
          need_files := 0;
        end if;
        is_counted := coalesce(replaced.size is not null and (rule.user_id = replaced.user_id
          or (rule.provider_id = replaced.provider_id and starts_with(replaced.charged_path, rule.path))), false);
        has_credit := has_credit or (is_counted and (need_bytes > 0 or need_files > 0));
        if is_counted then
          need_bytes := greatest(0, need_bytes - replaced.size);
          need_files := greatest(0, need_files - 1);
        end if;
        had_bytes := coalesce(before.rule_bytes[array_position(before.rules, rule.id)], 0);
        had_files := coalesce(before.rule_files[array_position(before.rules, rule.id)], 0);
        if (need_bytes > had_bytes and rule.used_bytes + rule.reserved_bytes + need_bytes - had_bytes > rule.max_bytes)
          or (need_files > had_files and rule.used_files + rule.reserved_files + need_files - had_files > rule.max_files)
        then
          is_refused := true;
          request_number := number;
          rule_id := rule.id;
          left_bytes := rule.max_bytes - rule.used_bytes - rule.reserved_bytes + had_bytes
            + case when is_counted then replaced.size else 0 end;
          left_files := rule.max_files - rule.used_files - rule.reserved_files + had_files;
          return next;
        end if;
        continue when need_bytes = 0 and need_files = 0;
        ids := ids || rule.id;
        bytes := bytes || need_bytes;
        files := files || need_files;
      end loop;
      continue when is_refused;
      if before.id is not null then delete from quota_changes c where c.id = before.id; end if;
      insert into quota_changes (
        id, provider_id, workspace_id, user_id, path, source_path, is_tree, bytes, rules, rule_bytes, rule_files, upload_id, holder,
        due_at, begun_at
      ) values (
        e.id, e.provider_id, e.workspace_id, e.user_id, e.path, e.source_path, e.is_tree, total, ids, bytes, files, e.upload_id,
        coalesce(e.holder, before.holder), case when e.holder is null then before.due_at else now() + lease end,
        coalesce(before.begun_at, now())
      );
      update quota_rules r set reserved_bytes = r.reserved_bytes + u.bytes, reserved_files = r.reserved_files + u.files
      from unnest(ids, bytes, files) u (id, bytes, files) where r.id = u.id;
      if has_credit then
        request_number := number;
        rule_id := null;
        return next;
      end if;
    end loop;
  end $$`

const endings = [
  `create function quota_paths_meet(path text, source text, is_tree boolean, path2 text, source2 text, is_tree2 boolean)
    returns boolean immutable language sql as $$
    select coalesce(path in (path2, source2) or source in (path2, source2)
      or (is_tree and (starts_with(path2, path) or starts_with(source2, path) or starts_with(path2, source)
        or starts_with(source2, source)))
      or (is_tree2 and (starts_with(path, path2) or starts_with(source, path2) or starts_with(path, source2)
        or starts_with(source, source2))), false) $$`,

  // Locks what the ends of changes need. Returns the changes whose outcome is certain, and leaves the others to a look at the back end:
  // those that others meet which have not ended, and those that were taken for interrupted. A look itself has to find its change.
  `create function certain_quota_ends(ends quota_end[], is_look boolean) returns text[] language plpgsql as $$
    declare
      certain text[];
    begin
      perform pg_advisory_xact_lock_shared(hashtextextended('quotas ' || w.workspace_id, 0))
      from (select distinct e.workspace_id from unnest(ends) e order by e.workspace_id) w;
      -- A count takes the lock alone while it compares, so that it sees the files that are gone or the mark.
      perform pg_advisory_xact_lock_shared(hashtextextended('quota ' || p.provider_id, 0))
      from (select distinct e.provider_id from unnest(ends) e order by e.provider_id) p;
      perform from quota_changes where id in (select e.id from unnest(ends) e) order by id for update;
      select coalesce(array_agg(e.id), '{}') into certain from unnest(ends) e
      where exists (select from quota_changes c where c.id = e.id)
        and (is_look or not exists (
          select from quota_changes c where c.provider_id = e.provider_id and c.id <> e.id and c.due_at is not null
            and quota_paths_meet(c.path, c.source_path, c.is_tree, e.path, e.source_path, e.is_tree)
        ));
      if is_look then return certain; end if;
      update quota_changes c set holder = null, due_at = now(), upload_id = null, stored_size = e.size
      from unnest(ends) e where c.id = e.id and c.id <> all(certain);
      insert into quota_changes (
        id, provider_id, workspace_id, user_id, path, source_path, is_tree, bytes, stored_size, rules, rule_bytes, rule_files, due_at
      )
      select e.id, e.provider_id, e.workspace_id, e.user_id, e.path, e.source_path, e.is_tree, 0, e.size, '{}', '{}', '{}', now()
      from unnest(ends) e join providers p on p.id = e.provider_id
      where e.id <> all(certain)
      on conflict (id) do nothing;
      return certain;
    end $$`,

  // The reservation of an upload that goes on stays.
  `create function finish_quota_changes(ids text[]) returns void language plpgsql as $$
    begin
      update quota_changes c set holder = null, due_at = null where c.id = any(ids) and c.upload_id is not null and c.stored_size is null
        and exists (select from uploads u where u.id = c.upload_id and u.stored_path is null);
      delete from quota_changes c where c.id = any(ids) and c.due_at is not null;
    end $$`,

  // Whoever stored a file of the size that it has is charged for it. A look cannot tell who did if the size is that of the file before.
  `create function end_quota_writes(ends quota_end[], is_look boolean) returns text[] language plpgsql as $$
    declare
      certain text[] := certain_quota_ends(ends, is_look);
    begin
      perform from unnest(ends) e join quota_files f on f.provider_id = e.provider_id and md5(f.path) = md5(e.path)
      where e.id = any(certain) order by md5(f.path) for update of f;
      perform from quota_rules r where r.id in (
        select unnest(c.rules) from quota_changes c where c.id = any(certain)
        union all
        select q.id from unnest(ends) e
        left join quota_files f on f.provider_id = e.provider_id and md5(f.path) = md5(e.path) and f.path = e.path
        join quota_rules q on q.workspace_id = e.workspace_id and (q.user_id in (e.user_id, f.user_id)
          or (q.provider_id = e.provider_id and (starts_with(e.path, q.path) or starts_with(f.charged_path, q.path))))
        where e.id = any(certain)
      ) order by r.id for update;
      insert into quota_files as known (provider_id, workspace_id, user_id, size, changed_at, path, charged_path)
      select e.provider_id, e.workspace_id,
        case when not is_look or c.stored_size = e.size or f.path is null then e.user_id
          when f.size = e.size or c.stored_size is not null then f.user_id else e.user_id end,
        e.size, clock_timestamp(), e.path, e.path
      from unnest(ends) e join quota_changes c on c.id = e.id
      left join quota_files f on f.provider_id = e.provider_id and md5(f.path) = md5(e.path) and f.path = e.path
      where e.id = any(certain)
      order by e.provider_id, md5(e.path)
      on conflict (provider_id, md5(path)) do update set size = excluded.size, user_id = excluded.user_id,
        charged_path = excluded.charged_path, changed_at = excluded.changed_at;
      if is_look then perform finish_quota_changes(certain);
      else delete from quota_changes where id = any(certain); end if;
      return certain;
    end $$`,

  // Deletes what is known at and below the path, and at and below the source if there is one. Without an id, nothing else has run.
  `create function end_quota_removal(e quota_end, is_look boolean) returns boolean language plpgsql as $$
    begin
      if e.id is not null and certain_quota_ends(array[e], is_look) = '{}' then return false; end if;
      perform pg_advisory_xact_lock_shared(hashtextextended('quotas ' || e.workspace_id, 0));
      perform pg_advisory_xact_lock_shared(hashtextextended('quota ' || e.provider_id, 0));
      perform from quota_files where ${within('e.path')} or ${within('e.source_path')} order by md5(path) for update;
      delete from quota_files where ${within('e.path')} or ${within('e.source_path')};
      insert into quota_marks (provider_id, made_at, is_new, path)
      select q.id, clock_timestamp(), false, m.path from quota_counts q, unnest(array[e.path, e.source_path]) m (path)
      where q.id = e.provider_id and q.lease_id is not null and m.path is not null;
      if is_look then perform finish_quota_changes(array[e.id]);
      else delete from quota_changes where id = e.id; end if;
      return true;
    end $$`,

  // Files keep their charge, and in the trash also the path that they count against. Files that nobody knew are charged to no member.
  `create function end_quota_move(e quota_end, is_look boolean) returns boolean language plpgsql as $$
    declare
      keeps boolean := starts_with(e.path, '/.stowage-trash/');
    begin
      if certain_quota_ends(array[e], is_look) = '{}' then return false; end if;
      perform from quota_files where ${within('e.source_path')} or ${within('e.path')} order by md5(path) for update;
      perform from quota_rules r where r.id in (
        select unnest(c.rules) from quota_changes c where c.id = e.id
        union all
        select q.id from quota_files f join quota_rules q on q.workspace_id = f.workspace_id
          and (q.user_id = f.user_id or (q.provider_id = f.provider_id and starts_with(f.charged_path, q.path)))
        where ${within('e.path', 'f.')}
        union all
        select q.id from quota_rules q where q.provider_id = e.provider_id and not keeps
          and starts_with(e.source_path, q.path) and not starts_with(e.path, q.path)
      ) order by r.id for update;
      delete from quota_files where ${within('e.path')};
      update quota_files set path = e.path || substr(path, length(e.source_path) + 1), changed_at = clock_timestamp(),
        charged_path = case when keeps then charged_path else e.path || substr(path, length(e.source_path) + 1) end
      where ${within('e.source_path')};
      if not found and e.size is not null then
        insert into quota_files (provider_id, workspace_id, size, changed_at, path, charged_path)
        select p.id, p.workspace_id, e.size, clock_timestamp(), e.path, case when keeps then e.source_path else e.path end
        from providers p where p.id = e.provider_id;
      end if;
      insert into quota_marks (provider_id, made_at, is_new, path)
      select q.id, clock_timestamp(), m.is_new, m.path
      from quota_counts q, (values (false, e.source_path), (true, e.path)) m (is_new, path)
      where q.id = e.provider_id and q.lease_id is not null;
      if is_look then perform finish_quota_changes(array[e.id]);
      else delete from quota_changes where id = e.id; end if;
      return true;
    end $$`,
]

const versions = [
  // A version counts from the moment when it is listed, against the quotas that the file before counted against.
  `create function count_file_version() returns trigger language plpgsql as $$
    begin
      insert into quota_files (provider_id, workspace_id, user_id, size, changed_at, path, charged_path)
      select p.id, p.workspace_id, new.charged_to, coalesce(new.size, 0), clock_timestamp(), '/.stowage-trash/' || new.id || '/',
        new.path
      from providers p join quota_counts c on c.id = p.id where p.id = new.provider_id
      on conflict (provider_id, md5(path)) do nothing;
      return null;
    end $$`,
  `create trigger count_file_version after insert or update of state on file_versions
    for each row when (new.state = 'KEPT') execute function count_file_version()`,
  // Where a quota of a member applies, a new provider has to be counted.
  `create function count_new_provider() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(hashtextextended('quotas ' || new.workspace_id, 0));
      insert into quota_counts (id) select new.id
      where exists (select from quota_rules r where r.workspace_id = new.workspace_id and r.user_id is not null)
      on conflict do nothing;
      return null;
    end $$`,
  `create trigger count_new_provider after insert on providers for each row execute function count_new_provider()`,
  `insert into quota_counts (id) select p.id from providers p
    where exists (select from quota_rules r where r.workspace_id = p.workspace_id and r.user_id is not null)
    on conflict do nothing`,
]
