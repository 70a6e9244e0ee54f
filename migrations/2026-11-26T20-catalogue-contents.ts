import { type Kysely, sql } from 'kysely'

/**
 * The text of the files of catalogues with the mode CONTENT: one row for each file whose text can be read. A row is of one version of
 * the file; `queued_id` changes with each version, so that a result of an earlier one is not stored. `content_next` is how far the
 * files that a catalogue had before it got the mode were added; null once all were.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table catalogue_contents (
      size bigint,
      modified_at timestamptz,
      queued_id uuid not null default gen_random_uuid(),
      catalogue integer not null,
      path text collate "C" not null check (octet_length(path) <= 2000),
      etag text,
      state text not null default 'WAITING' check (state in ('WAITING', 'DONE', 'FAILED')),
      failure text,
      folders integer[] not null,
      content text,
      words tsvector,
      primary key (catalogue, path)
    )`.execute(db)
  // Searches would read the list of what is not in the index yet from its beginning to its end.
  await sql`
    create index catalogue_contents_words on catalogue_contents using gin (words, folders) with (fastupdate = off)
      where state = 'DONE'`.execute(db)
  await sql`
    create index catalogue_contents_waiting on catalogue_contents (catalogue, path) where state = 'WAITING'`.execute(db)
  await sql`
    create index catalogue_contents_failed on catalogue_contents (catalogue, path) where state = 'FAILED'`.execute(db)
  await sql`
    alter table catalogues
      add column content_next text collate "C",
      add column content_failures integer not null default 0,
      add column content_retry_at timestamptz,
      add column content_claimed_at timestamptz not null default now(),
      add column content_lease_id uuid,
      add column content_lease_until timestamptz`.execute(db)
  await sql`update catalogues set content_next = '' where mode = 'CONTENT'`.execute(db)
}
