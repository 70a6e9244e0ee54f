import { type Kysely, sql } from 'kysely'

/** Jobs that bring folders back as they were at a time. The paths of the trash are in the order of those of the versions. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table jobs add column restore_at timestamptz`.execute(db)
  await sql`alter table job_entries add column restores json`.execute(db)
  await sql`create index trash_items_path on trash_items (provider_id, left(path || '/', 400) collate "C")`.execute(db)
}
