import { type Kysely, sql } from 'kysely'

/** The holds that people create, which are few, apart from the locks of objects, which may be as many as these. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`create index entry_holds_created on entry_holds (provider_id, left(path, 400) collate "C")
    where object_lock is null and released_at is null`.execute(db)
}
