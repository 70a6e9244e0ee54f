import { type Kysely, sql } from 'kysely'

/**
 * Checksums of contents that this server has read: one for each file, with the version that it is of. A checksum of an earlier version
 * says nothing.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table content_checksums (
      size bigint not null,
      modified_at timestamptz,
      read_at timestamptz not null default now(),
      provider_id uuid not null references providers on delete cascade,
      path text collate "C" not null check (octet_length(path) <= 2000),
      etag text,
      sha256 bytea not null check (octet_length(sha256) = 32),
      primary key (provider_id, path)
    )`.execute(db)
  await sql`alter table jobs drop constraint jobs_kind_check`.execute(db)
  await sql`
    alter table jobs add constraint jobs_kind_check check (kind in ('COPY', 'MOVE', 'DELETE', 'SYNC', 'CHECKSUM'))`.execute(
    db,
  )
}
