import { type Kysely, sql } from 'kysely'

/**
 * Groups, whose role and access add to those of their members, and service accounts, which have no password. Processes keep
 * members with their groups in memory, so a new membership also changes rights: see the migration of the rights.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table users add column is_service boolean not null default false;
    alter table users alter column password_hash drop not null;
    create table groups (
      id uuid primary key default gen_random_uuid(),
      workspace_id uuid not null references workspaces on delete cascade,
      name text not null,
      name_key text not null check (octet_length(name_key) <= 1024),
      role text not null check (role in ('ADMIN', 'EDITOR', 'VIEWER', 'NONE')),
      provider_access jsonb not null,
      created_at timestamptz not null default now(),
      unique (workspace_id, name_key),
      unique (workspace_id, id)
    );
    create table group_members (
      group_id uuid not null,
      workspace_id uuid not null,
      user_id uuid not null,
      primary key (workspace_id, user_id, group_id),
      foreign key (workspace_id, group_id) references groups (workspace_id, id) on delete cascade,
      foreign key (workspace_id, user_id) references members on delete cascade
    );
    create index group_members_group on group_members (workspace_id, group_id, user_id)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)

  const events = {
    groups: {
      changed: 'update of workspace_id, name, role, provider_access',
      deleted: 'delete',
      truncated: 'truncate',
    },
    group_members: { created: 'insert', changed: 'update', deleted: 'delete', truncated: 'truncate' },
  }
  for (const [table, changes] of Object.entries(events)) {
    for (const [name, event] of Object.entries(changes)) {
      const run = 'for each statement execute function rights_change()'
      await sql.raw(`create trigger ${table}_rights_${name} after ${event} on ${table} ${run}`).execute(db)
    }
  }
}
