import { type Kysely, sql } from 'kysely'

/** Uploads count their bytes in `upload_part_chunks`, because a sum over all of these chunks for each new one takes too long. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table uploads add column waiting bigint not null default 0`.execute(db)
  await sql`
    update uploads set waiting = c.bytes
    from (select upload_id, sum(octet_length(bytes)) as bytes from upload_part_chunks group by upload_id) c
    where c.upload_id = uploads.id`.execute(db)
}
