import { type Kysely, sql } from 'kysely'

/** Keeps what failed among the entries of a job, with everything that a retry needs. */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
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
  `
  for (const statement of statements.split(';')) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
