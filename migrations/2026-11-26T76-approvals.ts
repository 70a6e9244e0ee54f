import { type Kysely, sql } from 'kysely'

/** Calls of agents that wait until a person approves or refuses them. A notification tells all servers about each change. */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table workspaces add column approvals text[] not null default '{}' check (approvals <@ '{DELETION,OVERWRITE}');
    create table approvals (
      id uuid primary key,
      workspace_id uuid not null,
      user_id uuid not null,
      credential_kind text not null,
      credential_id uuid not null,
      kind text not null check (kind in ('DELETION', 'OVERWRITE')),
      tool text not null check (octet_length(tool) <= 100),
      call_hash bytea not null check (octet_length(call_hash) = 32),
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      details jsonb not null,
      state text not null default 'PENDING' check (state in ('PENDING', 'APPROVED', 'REFUSED', 'DONE')),
      created_at timestamptz not null default now(),
      expires_at timestamptz not null,
      decided_by uuid references users on delete set null,
      foreign key (workspace_id, user_id) references members on delete cascade
    );
    create unique index approvals_call on approvals (credential_id, call_hash) where state <> 'DONE';
    create index approvals_member on approvals (workspace_id, user_id);
    create index approvals_provider_id on approvals (provider_id);
    create index approvals_decided_by on approvals (decided_by) where decided_by is not null;
    create index approvals_expires_at on approvals (expires_at)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
  await sql`
    create function approvals_notify() returns trigger language plpgsql as $$
    begin
      perform pg_notify('approvals', new.workspace_id::text);
      return null;
    end $$`.execute(db)
  await sql`
    create trigger approvals_changed after insert or update on approvals
      for each row execute function approvals_notify()`.execute(db)
}
