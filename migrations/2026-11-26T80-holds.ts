import { type Kysely, sql } from 'kysely'

/** Holds, which prevent every change at a path and below it. A new one changes rights: see the migration of the rights. */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table entry_holds (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      reason text not null,
      held_until timestamptz,
      user_id uuid references users on delete set null,
      created_at timestamptz not null default now(),
      released_at timestamptz
    );
    create index entry_holds_path on entry_holds (provider_id, left(path, 400) collate "C") where released_at is null;
    create index entry_holds_workspace on entry_holds (workspace_id, id);
    create index entry_holds_user on entry_holds (user_id);
    create trigger entry_holds_rights_created after insert on entry_holds
      for each statement execute function rights_change()
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
