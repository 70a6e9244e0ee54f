import { type Kysely, sql } from 'kysely'

/** Whose uploads are scanned for malware, and whether the back end keeps an upload elsewhere until it was scanned. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table workspaces add column scanned_uploads text[] not null default '{DROP_LINKS}'
      check (scanned_uploads <@ '{DROP_LINKS,API_KEYS,SESSIONS}')`.execute(db)
  await sql`alter table uploads add column is_scanned boolean not null default false`.execute(db)
}
