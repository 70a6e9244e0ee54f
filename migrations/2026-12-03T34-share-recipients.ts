import { type Kysely, sql } from 'kysely'

/**
 * Shares with people and groups of the workspace. Such a share stays one when all of its recipients are gone: then nobody can open it. Processes
 * keep shares with their recipients in memory, so every change of recipients changes rights: see the migration of the rights.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table shares add column is_for_members boolean not null default false;
    create table share_recipients (
      id uuid primary key default gen_random_uuid(),
      share_id uuid not null references shares on delete cascade,
      workspace_id uuid not null,
      user_id uuid,
      group_id uuid,
      check ((user_id is null) <> (group_id is null)),
      unique (share_id, user_id),
      unique (share_id, group_id),
      foreign key (workspace_id, user_id) references members on delete cascade,
      foreign key (workspace_id, group_id) references groups (workspace_id, id) on delete cascade
    );
    create index share_recipients_member on share_recipients (workspace_id, user_id, share_id);
    create index share_recipients_group on share_recipients (workspace_id, group_id, share_id);
    create trigger shares_rights_audience after update of is_for_members on shares
      for each statement execute function rights_change()
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
  for (const event of ['insert', 'update', 'delete', 'truncate']) {
    const run = 'for each statement execute function rights_change()'
    await sql
      .raw(`create trigger share_recipients_rights_${event} after ${event} on share_recipients ${run}`)
      .execute(db)
  }
}
