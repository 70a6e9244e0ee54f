import { type Kysely, sql } from 'kysely'

/** Members take turns: the one whose jobs a server took least recently comes first. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table jobs add column taken_at timestamptz`.execute(db)
  await sql`create index jobs_taken_at on jobs (workspace_id, user_id, taken_at)`.execute(db)
}
