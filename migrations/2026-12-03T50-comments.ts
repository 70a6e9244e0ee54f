import { type Kysely, sql } from 'kysely'

/**
 * Comments on entries, and the emails to those whom they mention. A row of an email stays after it was sent, so that a person gets one for
 * each comment. Paths end with "/", as those of locks. Processes keep members in memory, so a change of what a person wants to receive counts
 * as one of rights: see the migration of the rights.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table entry_comments (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      is_folder boolean not null,
      user_id uuid references users on delete set null,
      text text not null check (octet_length(text) <= 6000),
      created_at timestamptz not null default now(),
      edited_at timestamptz
    );
    create index entry_comments_path on entry_comments (provider_id, left(path, 400) collate "C", id);
    create index entry_comments_author on entry_comments (user_id, workspace_id);
    create index entry_comments_workspace on entry_comments (workspace_id);
    create table comment_notices (
      id uuid primary key default gen_random_uuid(),
      comment_id uuid not null references entry_comments on delete cascade,
      user_id uuid not null references users on delete cascade,
      attempts integer not null default 0,
      next_attempt_at timestamptz default now(),
      claim_id uuid,
      unique (comment_id, user_id)
    );
    create index comment_notices_due on comment_notices (next_attempt_at) where next_attempt_at is not null;
    create index comment_notices_user on comment_notices (user_id);
    create index comment_notices_waiting on comment_notices (user_id) where next_attempt_at is not null;
    alter table users add column gets_mentions boolean not null default true;
    create trigger users_rights_mentions after update of gets_mentions on users
      for each statement execute function rights_change()
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
