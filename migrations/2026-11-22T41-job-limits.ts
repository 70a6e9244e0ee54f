import { type Kysely, sql } from 'kysely'

/** What all jobs together may do at a provider at once. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table providers
      add column job_files_at_once integer not null default 16 check (job_files_at_once between 1 and 128),
      add column job_bytes_per_second bigint check (job_bytes_per_second >= 65536)`.execute(db)
}
