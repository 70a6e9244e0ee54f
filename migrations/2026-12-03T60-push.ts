import { type Kysely, sql } from 'kysely'

/**
 * Push notifications: the key with which the servers sign their requests, the browsers that get notifications, and the outbox. A browser gets
 * them for one session, and no longer. A trigger collects the events of the audit log that are notifications; services insert the others.
 * There is one row for a subject, which counts events until they are sent. The trigger locks subscriptions, because one that ends meanwhile
 * would make the event fail, and leaves out those that are being deleted.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table push_keys (
      id smallint primary key default 1 check (id = 1),
      public_key bytea not null check (octet_length(public_key) = 65),
      private_key bytea not null,
      created_at timestamptz not null default now()
    );
    create table push_subscriptions (
      id uuid primary key,
      workspace_id uuid not null,
      user_id uuid not null,
      session_id uuid not null unique references sessions on delete cascade,
      endpoint text not null unique check (octet_length(endpoint) <= 1000),
      public_key bytea not null check (octet_length(public_key) = 65),
      auth bytea not null check (octet_length(auth) = 16),
      events text[] not null,
      language text,
      created_at timestamptz not null default now(),
      last_used_at timestamptz,
      foreign key (workspace_id, user_id) references members on delete cascade
    );
    create index push_subscriptions_member on push_subscriptions (workspace_id, user_id);
    create table push_messages (
      id uuid primary key default gen_random_uuid(),
      subscription_id uuid not null references push_subscriptions on delete cascade,
      event text not null check (octet_length(event) <= 32),
      subject_id text not null check (octet_length(subject_id) <= 64),
      count integer not null default 1,
      since timestamptz not null default now(),
      attempts integer not null default 0,
      next_attempt_at timestamptz not null default now(),
      claim_id uuid,
      unique (subscription_id, event, subject_id)
    );
    create index push_messages_due on push_messages (next_attempt_at);
    alter table jobs add column canceled_by uuid
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
  await sql`
    create function enqueue_push() returns trigger language plpgsql as $$
    begin
      with happened as materialized (
        select workspace_id, user_id, 'JOB_ENDED' as event, subject_id, 1 as count, now() as due
        from new_events
        where action = 'JOB_END' and subject_id is not null and coalesce(details ->> 'isAtomic', '') <> 'true'
        union all
        select workspace_id, user_id, case action when 'UPLOAD' then 'FILES_RECEIVED' else 'SHARE_USED' end,
          credential_id::text, count, case action when 'UPLOAD' then now() + interval '10 seconds' else now() end
        from new_events
        where credential_kind = 'SHARE' and result = 'OK' and action in ('UPLOAD', 'DOWNLOAD')
          and details ->> 'openedBy' is distinct from user_id::text
      ), subscriptions as materialized (
        select id, workspace_id, user_id, events from push_subscriptions
        where (workspace_id, user_id) in (select workspace_id, user_id from happened)
          and events && array['JOB_ENDED', 'FILES_RECEIVED', 'SHARE_USED']
        order by id for key share skip locked
      )
      insert into push_messages (subscription_id, event, subject_id, count, next_attempt_at)
      select s.id, e.event, e.subject_id, sum(e.count), min(e.due)
      from happened e
      join subscriptions s on s.workspace_id = e.workspace_id and s.user_id = e.user_id and e.event = any(s.events)
      group by s.id, e.event, e.subject_id
      order by s.id, e.event, e.subject_id
      on conflict (subscription_id, event, subject_id) do update set count = push_messages.count + excluded.count;
      return null;
    end $$`.execute(db)
  await sql`
    create trigger audit_events_push after insert on audit_events referencing new table as new_events
      for each statement execute function enqueue_push()`.execute(db)
  await sql`
    create function end_push() returns trigger language plpgsql as $$
    begin
      delete from push_subscriptions where session_id = new.id;
      return null;
    end $$`.execute(db)
  await sql`
    create trigger sessions_end_push after update of revoked_at on sessions
      for each row when (new.revoked_at is not null) execute function end_push()`.execute(db)
}
