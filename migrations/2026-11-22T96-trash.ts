import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table providers add column trash_days smallint check (trash_days between 0 and 3650)`.execute(db)
  // The jobs of earlier versions promised to delete permanently.
  await sql`alter table jobs add column permanent boolean not null default true`.execute(db)
  await sql`
    create table trash_items (
      id uuid primary key,
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      kind text not null check (kind in ('file', 'directory')),
      size bigint,
      native_id text,
      state text not null check (state in ('TRASHING', 'TRASHED', 'RESTORING', 'REMOVING')),
      user_id uuid not null,
      job_id uuid,
      restored_to text,
      deleted_at timestamptz not null default now(),
      expires_at timestamptz not null,
      due_at timestamptz not null
    )`.execute(db)
  await sql`create index trash_items_listed on trash_items (provider_id, id)`.execute(db)
  await sql`create index trash_items_due on trash_items (due_at)`.execute(db)
  await sql`create index trash_items_job on trash_items (job_id) where job_id is not null`.execute(db)
  await sql`
    create or replace function notify_of_entries() returns trigger language plpgsql as $$
    begin
      perform pg_notify('stowage_entries', string_agg(id::text, ','))
      from (
        select id, (row_number() over (order by id) - 1) / 200 as part from new_events
        where (result = 'OK' or action = 'JOB_END') and action in ('UPLOAD', 'FOLDER_CREATE', 'RENAME', 'MOVE', 'COPY',
          'DELETE', 'RESTORE', 'JOB_END')
      ) as e
      group by part;
      return null;
    end $$`.execute(db)
}
