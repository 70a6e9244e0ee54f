import { type Kysely, sql } from 'kysely'

/**
 * Reserves for each request what it needs beyond what the file at its path has, or nothing at all. Returns the rules that refuse, with the
 * positions of their requests: several of one statement can be of the same upload. What moves from a path needs nothing more in the rules
 * that it counts against already. A move is noted as a change of a tree, because only a count finds out how it ended if its server was
 * killed. A request whose provider or upload is gone reserves nothing, and stops no other one. Deletions lock rows of providers and uploads
 * before rules, so this does as well.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`drop function reserve_quota(quota_request[], interval)`.execute(db)
  await sql`
    create function reserve_quota(requests quota_request[], lease interval)
      returns table (request_number integer, rule_id uuid, left_bytes bigint, left_files bigint) language plpgsql as $$
    declare
      request quota_request;
      number integer := 0;
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
      perform from providers where id in (select q.provider_id from unnest(requests) q) order by id for key share;
      perform from uploads where id in (select q.upload_id from unnest(requests) q) order by id for key share;
      perform from quota_rules r where exists (
        select from unnest(requests) q where r.workspace_id = q.workspace_id
          and (r.user_id = q.user_id or (r.provider_id = q.provider_id and starts_with(q.charged_path, r.path)))
      ) order by r.id for update;
      foreach request in array requests loop
        number := number + 1;
        continue when not exists (select from providers p where p.id = request.provider_id)
          or (request.upload_id is not null and not exists (select from uploads u where u.id = request.upload_id));
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
            request_number := number;
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
          request.id, request.provider_id, request.workspace_id, request.user_id, request.path,
          request.source_path is not null, total, ids, bytes, files,
          request.upload_id, request.holder, case when request.holder is null then null else now() + lease end
        );
        update quota_rules r set reserved_bytes = r.reserved_bytes + u.bytes, reserved_files = r.reserved_files + u.files
        from unnest(ids, bytes, files) u (id, bytes, files) where r.id = u.id;
      end loop;
    end $$`.execute(db)
}
