import { type Kysely, sql } from 'kysely'

/** Schedules, which create jobs. A disabled schedule has no next run. */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table schedules (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null,
      credential_kind text not null check (credential_kind in ('SESSION', 'API_KEY')),
      credential_id uuid not null,
      name text not null,
      cron text not null,
      time_zone text not null,
      job jsonb not null,
      next_run_at timestamptz,
      error_reason text,
      error_message text,
      last_job_id uuid,
      last_skipped_at timestamptz,
      claim_id uuid,
      claimed_until timestamptz,
      created_at timestamptz not null default now()
    );
    create index schedules_workspace on schedules (workspace_id, id);
    create index schedules_owner on schedules (workspace_id, user_id);
    create index schedules_due on schedules (next_run_at) where next_run_at is not null;
  `
  for (const statement of statements.split(';')) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
