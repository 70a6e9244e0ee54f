import { type Kysely, sql } from 'kysely'

/**
 * S3 Object Lock: holds of the content of one object. They go to its earlier version when it is replaced (see `insertVersion` and
 * `markKept`), so those of a version have its id. Only storages with settings have such holds, and the memory of the rights has the
 * settings, so a new one of them changes no rights.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table object_lock_settings (
      provider_id uuid primary key references providers on delete cascade,
      mode text check (mode in ('COMPLIANCE', 'GOVERNANCE')),
      days integer check (days between 1 and 36500),
      check ((mode is null) = (days is null))
    );
    create trigger object_lock_settings_rights_changed after insert or update on object_lock_settings
      for each statement execute function rights_change();
    alter table entry_holds add column object_lock text check (object_lock in ('COMPLIANCE', 'GOVERNANCE', 'LEGAL_HOLD'));
    alter table entry_holds add column version_id uuid references file_versions on delete cascade;
    create index entry_holds_version on entry_holds (version_id) where version_id is not null;
    create index entry_holds_object_end on entry_holds (least(held_until, released_at)) where object_lock is not null;
    drop trigger entry_holds_rights_created on entry_holds;
    create trigger entry_holds_rights_created after insert on entry_holds
      for each row when (new.object_lock is null) execute function rights_change()
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
