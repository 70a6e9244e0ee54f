import { type Kysely, sql } from 'kysely'

/**
 * Changes that others make at a back end. One server asks each back end what has changed (`changes_server`), from a cursor on, and adds
 * what to look at to `catalogue_changes`. What differs from the catalogue waits in `outside_changes` until it is published.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table catalogues add column changes_cursor text, add column changes_server uuid,
      add column changes_retry_at timestamptz`.execute(db)
  await sql`alter table catalogue_changes add column is_outside boolean not null default false`.execute(db)
  // Some back ends name what has changed by its id alone.
  await sql`
    create index catalogue_entries_ids on catalogue_entries (catalogue, file_id) where file_id is not null`.execute(db)
  await sql`
    create table outside_changes (
      id uuid primary key,
      catalogue integer not null,
      kind text not null check (kind in ('WRITTEN', 'REMOVED', 'TREE_CHANGED')),
      path text collate "C" not null check (octet_length(path) <= 2000),
      at timestamptz not null default now(),
      published_at timestamptz
    )`.execute(db)
  await sql`create index outside_changes_waiting on outside_changes (at) where published_at is null`.execute(db)
  await sql`create index outside_changes_published on outside_changes (published_at) where published_at is not null`.execute(
    db,
  )
}
