import { type Kysely, sql } from 'kysely'

/**
 * Notifies all servers of each change of a job that subscribers see. Steps of a run change only its counts, and each renewal of
 * its lease reports them, once a second.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create function notify_of_job() returns trigger language plpgsql as $$
    begin
      perform pg_notify('stowage_jobs', new.id::text);
      return null;
    end $$`.execute(db)
  await sql`create trigger jobs_created after insert on jobs for each row execute function notify_of_job()`.execute(db)
  await sql`
    create trigger jobs_changed after update on jobs for each row
      when (old.state is distinct from new.state or old.lease_until is distinct from new.lease_until)
      execute function notify_of_job()`.execute(db)
}
