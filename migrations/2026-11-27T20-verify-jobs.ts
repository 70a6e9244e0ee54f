import { type Kysely, sql } from 'kysely'

/** Jobs that read files again, to find damage. What they have not read since they began, they look for at their end. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table content_checksums drop column seen_at`.execute(db)
  await sql`alter table jobs drop constraint jobs_kind_check`.execute(db)
  await sql`
    alter table jobs add constraint jobs_kind_check check (kind in ('COPY', 'MOVE', 'DELETE', 'SYNC', 'CHECKSUM', 'VERIFY', 'RESTORE'))`.execute(
    db,
  )
}
