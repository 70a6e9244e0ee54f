import { type Kysely, sql } from 'kysely'

/**
 * Notifies all servers of the audit events that change files, in the transaction that writes the events.
 * A payload is a list of ids: at most 200, because PostgreSQL limits payloads to 8000 bytes.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create function notify_of_entries() returns trigger language plpgsql as $$
    begin
      perform pg_notify('stowage_entries', string_agg(id::text, ','))
      from (
        select id, (row_number() over (order by id) - 1) / 200 as part from new_events
        where (result = 'OK' or action = 'JOB_END') and action in ('UPLOAD', 'FOLDER_CREATE', 'RENAME', 'MOVE', 'COPY',
          'DELETE', 'JOB_END')
      ) as e
      group by part;
      return null;
    end $$`.execute(db)
  await sql`
    create trigger audit_events_entries after insert on audit_events referencing new table as new_events
      for each statement execute function notify_of_entries()`.execute(db)
}
