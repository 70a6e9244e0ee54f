import { type Kysely, sql } from 'kysely'

/**
 * Grams of 16 bits and ids of 64, which are parts of the former ones: an entry takes a fifth less of the disk. The index of ids needs no
 * catalogue, as hardly any two entries have the same id.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`drop index catalogue_entries_ids`.execute(db)
  await sql`
    create function short_grams(grams integer[]) returns smallint[] language sql immutable as $$
      select array_agg((g << 16) >> 16) from unnest(grams) g
    $$`.execute(db)
  await sql`
    alter table catalogue_entries
      alter column grams type smallint[] using short_grams(grams),
      alter column file_id type bigint using ('x' || left(replace(file_id::text, '-', ''), 16))::bit(64)::bigint`.execute(
    db,
  )
  await sql`update catalogue_contents set folders = short_grams(folders)`.execute(db)
  await sql`drop function short_grams(integer[])`.execute(db)
  await sql`create index catalogue_entries_ids on catalogue_entries (file_id) where file_id is not null`.execute(db)
}
