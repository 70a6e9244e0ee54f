import { type Kysely, sql } from 'kysely'

/**
 * Uploads in parts that come in any order. The parts 1 to `appended_parts` are in the sequence of bytes that `uploads` describes.
 * Later parts wait: their bytes are the chunks with their `content`.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table uploads
      add column is_multipart boolean not null default false,
      add column appended_parts integer not null default 0;
    create table upload_parts (
      upload_id text not null references uploads on delete cascade check (octet_length(upload_id) <= 64),
      number integer not null check (number between 1 and 10000),
      size bigint not null check (size >= 0),
      md5 bytea not null,
      content uuid,
      stored_at timestamptz not null default now(),
      primary key (upload_id, number)
    );
    create table upload_part_chunks (
      upload_id text not null references uploads on delete cascade check (octet_length(upload_id) <= 64),
      content uuid not null,
      position bigint not null,
      bytes bytea not null,
      primary key (upload_id, content, position)
    );
    alter table upload_part_chunks alter column bytes set storage external
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
