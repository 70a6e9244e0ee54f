import { type Kysely, sql } from 'kysely'

/**
 * The table of checksums gets those of contents that the server has written, too. `content_tag` tells one version of a file from another
 * where the etag changes for other reasons; `read_at` is null for a content that was only written; `seen_at` is when a VERIFY last saw the
 * file. Another back end has other files, so nothing is known of them.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table content_checksums add content_tag text, add seen_at timestamptz, alter read_at drop not null, alter read_at drop default`.execute(
    db,
  )
  await sql`
    create function forget_contents() returns trigger language plpgsql as $$
    begin
      delete from content_checksums where provider_id = new.id;
      return null;
    end $$`.execute(db)
  await sql`
    create trigger providers_contents_forgotten after update of config on providers for each row
      when (old.config is distinct from new.config) execute function forget_contents()`.execute(db)
}
