import { type Kysely, sql } from 'kysely'

/**
 * Jobs that a mutation waits for. They stop at the first failure and then undo what they have copied, so each copied file
 * is an entry until the end. Its ids come from adapters and may contain NUL, which `jsonb` cannot store.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table jobs
      add column is_atomic boolean not null default false,
      add column outcome text check (outcome in ('KEEP', 'UNDO'))`.execute(db)
  await sql`
    alter table job_entries
      add column copied json,
      drop constraint job_entries_state_check,
      add constraint job_entries_state_check
        check (state in ('SOURCE', 'FILE', 'FOLDER', 'EXTRA', 'LISTED', 'KEPT', 'COPIED'))`.execute(db)
}
