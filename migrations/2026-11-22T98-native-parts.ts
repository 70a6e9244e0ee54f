import { type Kysely, sql } from 'kysely'

/**
 * Uploads keep the modification time for their file. The parts of an upload with `has_native_parts` are at the back end, which
 * knows each by its number and `tag`.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table uploads
      add column modified_at timestamptz,
      add column has_native_parts boolean not null default false;
    alter table upload_parts add column tag text
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
