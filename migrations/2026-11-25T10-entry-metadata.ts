import { type Kysely, sql } from 'kysely'

/** Locks and properties belong to entries, whichever protocol sets them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const names = { webdav_locks: 'entry_locks', webdav_properties: 'entry_properties' }
  for (const [from, to] of Object.entries(names)) await sql.raw(`alter table ${from} rename to ${to}`).execute(db)
  const indexes = ['locks_path', 'locks_member', 'locks_expiry', 'locks_pkey', 'properties_name', 'properties_path']
  for (const name of indexes) await sql.raw(`alter index webdav_${name} rename to entry_${name}`).execute(db)
  const constraints = {
    entry_locks: ['locks_provider_id_fkey', 'locks_workspace_id_user_id_fkey'],
    entry_properties: ['properties_provider_id_fkey'],
  }
  for (const [table, of] of Object.entries(constraints)) {
    for (const name of of) {
      await sql.raw(`alter table ${table} rename constraint webdav_${name} to entry_${name}`).execute(db)
    }
  }
  await sql`alter trigger webdav_locks_rights_created on entry_locks rename to entry_locks_rights_created`.execute(db)
  await sql`alter function webdav_locks_rights_change() rename to entry_locks_rights_change`.execute(db)
  // The function names its table in a text, which does not follow the table.
  await sql`
    create or replace function entry_locks_rights_change() returns trigger language plpgsql as $$
    begin
      if exists (
        select from new_rows where not exists (
          select from entry_locks l where l.provider_id = new_rows.provider_id
            and l.expires_at > now() + interval '5 minutes' and l.token not in (select token from new_rows)
        )
      ) then
        perform note_change_of_rights();
      end if;
      return null;
    end $$`.execute(db)
}
