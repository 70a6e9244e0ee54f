import { type Kysely, sql } from 'kysely'

/**
 * Counts the changes of rights, so that server processes can keep rights in memory. A statement trigger notes that a transaction
 * changes rights, and the counter rises once, at the commit: its order is that of the commits, and no transaction holds its
 * row while it waits for other locks. New credentials and members do not count, because no process keeps their absence.
 * `rights_readers` has a row for each process that keeps rights.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const tables = `
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
    )
  `
  for (const statement of tables.split(';')) await sql.raw(statement).execute(db)

  // Names one run of a server with one copy of the table. A restored copy can count from an earlier value again.
  await sql`
    create function rights_epoch() returns text language sql stable as $$
      select 'rights_counter'::regclass::oid::text || '/' || extract(epoch from pg_postmaster_start_time())::text
    $$`.execute(db)
  await sql`insert into rights_counter (counter, epoch, began_at) values (0, rights_epoch(), '-infinity')`.execute(db)

  await sql`
    create function note_change_of_rights() returns void language plpgsql as $$
    begin
      if current_setting('stowage.rights_changed_in', true) is distinct from pg_current_xact_id()::text then
        perform set_config('stowage.rights_changed_in', pg_current_xact_id()::text, true);
        insert into rights_changes default values;
      end if;
    end $$`.execute(db)
  await sql`
    create function rights_change() returns trigger language plpgsql as $$
    begin
      perform note_change_of_rights();
      return null;
    end $$`.execute(db)
  await sql`
    create function sessions_rights_change() returns trigger language plpgsql as $$
    begin
      if exists (select from old_rows where revoked_at is null and expires_at > now()) then
        perform note_change_of_rights();
      end if;
      return null;
    end $$`.execute(db)
  // Processes keep whether a provider has locks. A lock counts unless another one makes that true for minutes to come.
  await sql`
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
    end $$`.execute(db)
  await sql`
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
    end $$`.execute(db)

  const triggers = `
    create constraint trigger rights_changes_count after insert on rights_changes deferrable initially deferred
      for each row execute function raise_rights_counter();
    create trigger sessions_rights_deleted after delete on sessions referencing old table as old_rows
      for each statement execute function sessions_rights_change();
    create trigger webdav_locks_rights_created after insert on webdav_locks referencing new table as new_rows
      for each statement execute function webdav_locks_rights_change()
  `
  for (const statement of triggers.split(';')) await sql.raw(statement).execute(db)

  const columns = {
    users: 'email, name',
    members: 'workspace_id, user_id, role, provider_access',
    sessions: 'workspace_id, user_id, expires_at, revoked_at',
    api_keys: 'workspace_id, user_id, name, key_hash, scopes, provider_access, expires_at, revoked_at',
    shares: `workspace_id, user_id, credential_kind, credential_id, kind, provider_id, paths, is_folder, token_hash, token,
      password_hash, note, expires_at, max_downloads, max_bytes, file_types, notify, revoked_at`,
    providers: 'workspace_id, slug, version',
  }
  for (const [table, changed] of Object.entries(columns)) {
    const run = 'for each statement execute function rights_change()'
    await sql.raw(`create trigger ${table}_rights_changed after update of ${changed} on ${table} ${run}`).execute(db)
    await sql.raw(`create trigger ${table}_rights_truncated after truncate on ${table} ${run}`).execute(db)
    if (table === 'sessions') continue
    await sql.raw(`create trigger ${table}_rights_deleted after delete on ${table} ${run}`).execute(db)
  }
}
