import { type Kysely, sql } from 'kysely'

/**
 * Where something changes, or soon may change, without an event that the catalogue follows: a file that a client uploads to the back end
 * directly, or a time that was set. A look is due at that time.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table catalogue_expected (
      due_at timestamptz not null,
      catalogue integer not null,
      path text collate "C" not null check (octet_length(path) <= 2000)
    )`.execute(db)
  await sql`create index catalogue_expected_due on catalogue_expected (due_at)`.execute(db)
}
