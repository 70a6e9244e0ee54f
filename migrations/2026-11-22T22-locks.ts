import { type Kysely, sql } from 'kysely'

/** Unlogged: a lock is worth nothing after a crash of the database, and taking one does not wait for the disk. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create unlogged table locks (
      key bytea primary key,
      holder uuid not null,
      ends_at timestamptz not null
    )`.execute(db)
}
