import { type Kysely, sql } from 'kysely'

/** Why the file of an upload is stored although nothing has scanned it, so that another server can say so after a kill. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table uploads add column unscanned text check (unscanned in ('UNREACHABLE', 'TOO_LONG'))`.execute(db)
}
