import { type Kysely, sql } from 'kysely'

/**
 * The outbox of emails about shares. A message with a recipient is the invitation to use a link. One without goes to the maker
 * of a drop link: a trigger collects the files that arrive in it, in the transaction that records them, until a server claims
 * it.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table shares add column notify boolean not null default false;
    create table share_emails (
      id uuid primary key,
      share_id uuid not null references shares on delete cascade,
      recipient text,
      files integer not null default 0,
      bytes bigint not null default 0,
      attempts integer not null default 0,
      next_attempt_at timestamptz not null default now(),
      claim_id uuid
    );
    create index share_emails_share_id on share_emails (share_id);
    create unique index share_emails_collecting on share_emails (share_id) where recipient is null and claim_id is null;
    create index share_emails_due on share_emails (next_attempt_at)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
  await sql`
    create function collect_arrivals() returns trigger language plpgsql as $$
    begin
      insert into share_emails (id, share_id, files, bytes, next_attempt_at)
      select gen_random_uuid(), s.id, count(*), coalesce(sum(e.bytes), 0), now() + interval '5 minutes'
      from new_events e join shares s on s.id = e.credential_id
      where e.credential_kind = 'SHARE' and e.action = 'UPLOAD' and e.result = 'OK' and s.notify
      group by s.id order by s.id
      on conflict (share_id) where recipient is null and claim_id is null
      do update set files = share_emails.files + excluded.files, bytes = share_emails.bytes + excluded.bytes;
      return null;
    end $$`.execute(db)
  await sql`
    create trigger audit_events_arrivals after insert on audit_events referencing new table as new_events
      for each statement execute function collect_arrivals()`.execute(db)
}
