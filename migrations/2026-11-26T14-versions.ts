import { type Kysely, sql } from 'kysely'

/**
 * Earlier versions of files. Storages that exist already keep none until somebody switches it on, because versions take space. The
 * settings are in the memory of the rights: see the migration of the rights.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table providers add column version_count smallint check (version_count between 0 and 1000);
    alter table providers add column version_days smallint check (version_days between 1 and 3650);
    update providers set version_count = 0;
    create trigger providers_versions_changed after update of version_count, version_days on providers
      for each statement execute function rights_change();
    create table file_versions (
      id uuid primary key,
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      size bigint,
      modified_at timestamptz,
      etag text,
      user_id uuid not null,
      state text not null check (state in ('KEEPING', 'KEPT', 'RESTORING', 'REMOVING')),
      replaced_at timestamptz not null default now(),
      expires_at timestamptz not null,
      due_at timestamptz not null
    );
    create index file_versions_path on file_versions (provider_id, left(path, 400) collate "C", id);
    create index file_versions_due on file_versions (due_at)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
