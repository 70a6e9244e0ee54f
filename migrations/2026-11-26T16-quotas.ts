import { type Kysely, sql } from 'kysely'

/**
 * Quotas. `quota_rules` has the limits and what counts against them, `quota_files` each known file with who is charged for it, and
 * `quota_changes` the changes that are running, with what they have reserved. Triggers keep the sums of the rules equal to the rows of the
 * two other tables, whatever changes those. Each statement locks rows of `quota_files` in the order of the hashes of their paths, and then rules
 * in the order of their ids, so that none waits for another in a circle. Paths end with "/", as those of `entry_holds`.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const tables = `
    create table quota_rules (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      provider_id uuid references providers on delete cascade,
      path text,
      user_id uuid,
      max_bytes bigint check (max_bytes >= 0),
      max_files bigint check (max_files >= 0),
      used_bytes bigint not null default 0,
      used_files bigint not null default 0,
      reserved_bytes bigint not null default 0,
      reserved_files bigint not null default 0,
      created_at timestamptz not null default now(),
      check ((provider_id is null) = (path is null) and (provider_id is null) <> (user_id is null)),
      foreign key (workspace_id, user_id) references members on delete cascade
    ) with (fillfactor = 50);
    create unique index quota_rules_member on quota_rules (workspace_id, user_id) where user_id is not null;
    create unique index quota_rules_path on quota_rules (provider_id, md5(path)) where provider_id is not null;
    create index quota_rules_workspace on quota_rules (workspace_id, id);
    create table quota_files (
      provider_id uuid not null references providers on delete cascade,
      workspace_id uuid not null,
      user_id uuid,
      size bigint not null,
      changed_at timestamptz not null,
      counted_at timestamptz,
      path text not null,
      charged_path text not null
    );
    create unique index quota_files_file on quota_files (provider_id, md5(path));
    create index quota_files_path on quota_files (provider_id, left(path, 400) collate "C");
    create index quota_files_user on quota_files (workspace_id, user_id) where user_id is not null;
    create table quota_changes (
      id text primary key check (octet_length(id) <= 100),
      provider_id uuid not null references providers on delete cascade,
      workspace_id uuid not null,
      user_id uuid not null,
      path text not null,
      is_tree boolean not null,
      bytes bigint not null,
      rules uuid[] not null,
      rule_bytes bigint[] not null,
      rule_files bigint[] not null,
      upload_id text references uploads on delete cascade check (octet_length(upload_id) <= 100),
      holder uuid,
      due_at timestamptz
    );
    create index quota_changes_provider on quota_changes (provider_id);
    create index quota_changes_upload on quota_changes (upload_id) where upload_id is not null;
    create index quota_changes_holder on quota_changes (holder) where holder is not null;
    create index quota_changes_due on quota_changes (due_at) where due_at is not null;
    create table quota_marks (
      provider_id uuid not null references providers on delete cascade,
      made_at timestamptz not null,
      is_new boolean not null,
      path text not null
    );
    create index quota_marks_made on quota_marks (provider_id, made_at);
    create table quota_counts (
      id uuid primary key references providers on delete cascade,
      counted_at timestamptz,
      lease_id uuid,
      due_at timestamptz not null default now()
    );
    create index quota_counts_due on quota_counts (due_at);
    create trigger quota_rules_rights_created after insert on quota_rules for each statement execute function rights_change();
    create trigger quota_rules_rights_deleted after delete on quota_rules for each statement execute function rights_change()
  `
  for (const statement of tables.split(';')) await sql.raw(statement).execute(db)

  // Adds the rows of a statement, or takes them away, in all rules that they count against.
  const charging = (rows: string) => `
    begin
      perform from quota_rules where id in (${sums(rows, 'select r.id')}) order by id for update;
      if not found then return null; end if;
      update quota_rules r set used_bytes = r.used_bytes + s.bytes, used_files = r.used_files + s.files
      from (${sums(rows, 'select r.id, sum(f.bytes) as bytes, sum(f.files) as files')} group by r.id) s
      where r.id = s.id and (s.bytes <> 0 or s.files <> 0);
      return null;
    end`
  const added = 'select workspace_id, provider_id, user_id, charged_path, size as bytes, 1 as files from added'
  const removed = 'select workspace_id, provider_id, user_id, charged_path, -size as bytes, -1 as files from removed'
  const triggers = {
    insert: { rows: added, tables: 'new table as added' },
    delete: { rows: removed, tables: 'old table as removed' },
    update: { rows: `${added} union all ${removed}`, tables: 'old table as removed new table as added' },
  }
  for (const [event, { rows, tables }] of Object.entries(triggers)) {
    await sql
      .raw(`create function quota_files_${event}() returns trigger language plpgsql as $$${charging(rows)}$$`)
      .execute(db)
    await sql
      .raw(`create trigger quota_files_${event} after ${event} on quota_files referencing ${tables}
        for each statement execute function quota_files_${event}()`)
      .execute(db)
  }

  await sql`
    create function quota_changes_delete() returns trigger language plpgsql as $$
    begin
      perform from quota_rules where id in (select unnest(rules) from removed) order by id for update;
      update quota_rules r set reserved_bytes = r.reserved_bytes - s.bytes, reserved_files = r.reserved_files - s.files
      from (
        select u.id, sum(u.bytes) as bytes, sum(u.files) as files
        from removed, unnest(removed.rules, removed.rule_bytes, removed.rule_files) u (id, bytes, files) group by u.id
      ) s where r.id = s.id;
      return null;
    end $$`.execute(db)
  await sql`
    create trigger quota_changes_delete after delete on quota_changes referencing old table as removed
      for each statement execute function quota_changes_delete()`.execute(db)

  await sql`
    create type quota_request as (
      id text, provider_id uuid, workspace_id uuid, user_id uuid, path text, charged_path text, source_path text,
      bytes bigint, adds boolean, files bigint, upload_id text, holder uuid
    )`.execute(db)
  // Reserves for each request what it needs beyond what the file at its path has, or nothing at all. Returns the rules that refuse. What moves
  // from a path needs nothing more in the rules that it counts against already.
  await sql`
    create function reserve_quota(requests quota_request[], lease interval)
      returns table (request_id text, rule_id uuid, left_bytes bigint, left_files bigint) language plpgsql as $$
    declare
      request quota_request;
      rule quota_rules;
      before quota_changes;
      replaced quota_files;
      total bigint;
      ids uuid[];
      bytes bigint[];
      files bigint[];
      is_counted boolean;
      need_bytes bigint;
      need_files bigint;
      had_bytes bigint;
      had_files bigint;
      is_refused boolean;
    begin
      perform from quota_rules r where exists (
        select from unnest(requests) q where r.workspace_id = q.workspace_id
          and (r.user_id = q.user_id or (r.provider_id = q.provider_id and starts_with(q.charged_path, r.path)))
      ) order by r.id for update;
      foreach request in array requests loop
        before := null;
        replaced := null;
        select c.* into before from quota_changes c where c.id = request.id;
        select f.* into replaced from quota_files f where f.provider_id = request.provider_id
          and md5(f.path) = md5(request.path) and f.path = request.path;
        total := case when request.adds then coalesce(before.bytes, 0) + request.bytes
          else greatest(coalesce(before.bytes, 0), request.bytes) end;
        ids := '{}';
        bytes := '{}';
        files := '{}';
        is_refused := false;
        for rule in select r.* from quota_rules r where r.workspace_id = request.workspace_id and (r.user_id = request.user_id
          or (r.provider_id = request.provider_id and starts_with(request.charged_path, r.path)))
          and (request.source_path is null or (r.provider_id is not null and not starts_with(request.source_path, r.path)))
          order by r.id
        loop
          is_counted := replaced.size is not null and (rule.user_id = replaced.user_id
            or (rule.provider_id = replaced.provider_id and starts_with(replaced.charged_path, rule.path)));
          is_counted := coalesce(is_counted, false);
          need_bytes := greatest(0, total - case when is_counted then replaced.size else 0 end);
          need_files := case when is_counted then 0 else request.files end;
          had_bytes := coalesce(before.rule_bytes[array_position(before.rules, rule.id)], 0);
          had_files := coalesce(before.rule_files[array_position(before.rules, rule.id)], 0);
          if (need_bytes > had_bytes and rule.used_bytes + rule.reserved_bytes + need_bytes - had_bytes > rule.max_bytes)
            or (need_files > had_files and rule.used_files + rule.reserved_files + need_files - had_files > rule.max_files)
          then
            is_refused := true;
            request_id := request.id;
            rule_id := rule.id;
            left_bytes := rule.max_bytes - rule.used_bytes - rule.reserved_bytes + had_bytes
              + case when is_counted then replaced.size else 0 end;
            left_files := rule.max_files - rule.used_files - rule.reserved_files + had_files;
            return next;
          end if;
          ids := ids || rule.id;
          bytes := bytes || need_bytes;
          files := files || need_files;
        end loop;
        continue when is_refused;
        if before.id is not null then delete from quota_changes c where c.id = before.id; end if;
        insert into quota_changes values (
          request.id, request.provider_id, request.workspace_id, request.user_id, request.path, false, total, ids, bytes, files,
          request.upload_id, request.holder, case when request.holder is null then null else now() + lease end
        );
        update quota_rules r set reserved_bytes = r.reserved_bytes + u.bytes, reserved_files = r.reserved_files + u.files
        from unnest(ids, bytes, files) u (id, bytes, files) where r.id = u.id;
      end loop;
    end $$`.execute(db)

  const within = (path: string) => `(provider_id = provider
    and left(path, 400) collate "C" between left(${path}, 400) and left(left(${path}, -1) || '0', 400)
    and starts_with(path, ${path}))`
  // A count takes the lock alone while it compares, so that it sees the files that are gone or the mark.
  const beginning = (rows: string) => `
    perform pg_advisory_xact_lock_shared(hashtextextended('quota ' || provider, 0));
    perform from quota_files where ${rows} order by md5(path) for update;
    delete from quota_changes where id = change`
  await sql
    .raw(`
      create function end_quota_removal(change text, provider uuid, removed text) returns void language plpgsql as $$
      begin
        ${beginning(within('removed'))};
        delete from quota_files where ${within('removed')};
        insert into quota_marks select id, clock_timestamp(), false, removed from quota_counts where id = provider;
      end $$`)
    .execute(db)
  // Files that nobody knew are charged to no member.
  await sql
    .raw(`
      create function end_quota_move(
        change text, provider uuid, workspace uuid, source text, target text, keeps_charge boolean, file_size bigint
      ) returns void language plpgsql as $$
      begin
        ${beginning(`${within('source')} or ${within('target')}`)};
        delete from quota_files where ${within('target')};
        update quota_files set path = target || substr(path, length(source) + 1), changed_at = clock_timestamp(),
          charged_path = case when keeps_charge then charged_path else target || substr(path, length(source) + 1) end
        where ${within('source')};
        if not found and file_size is not null then
          insert into quota_files (provider_id, workspace_id, size, changed_at, path, charged_path)
          values (provider, workspace, file_size, clock_timestamp(), target, case when keeps_charge then source else target end);
        end if;
        insert into quota_marks select id, clock_timestamp(), m.is_new, m.path
        from quota_counts, (values (false, source), (true, target)) m (is_new, path) where id = provider;
      end $$`)
    .execute(db)
}

/** The files of a statement with the rules that they count against. */
function sums(rows: string, select: string): string {
  return `${select} from (${rows}) f join quota_rules r on r.workspace_id = f.workspace_id
    and (r.user_id = f.user_id or (r.provider_id = f.provider_id and starts_with(f.charged_path, r.path)))`
}
