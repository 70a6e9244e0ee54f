import { type Kysely, sql } from 'kysely'

/**
 * Stars, which each member gives to entries for themselves, and tags, which a workspace gives to them. Their paths end with "/", as those of
 * locks.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table entry_stars (
      id uuid primary key,
      workspace_id uuid not null,
      user_id uuid not null,
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      is_folder boolean not null,
      created_at timestamptz not null default now(),
      foreign key (workspace_id, user_id) references members on delete cascade
    );
    create unique index entry_stars_entry on entry_stars (provider_id, md5(path), user_id);
    create index entry_stars_path on entry_stars (provider_id, left(path, 400) collate "C");
    create index entry_stars_member on entry_stars (workspace_id, user_id, id);
    create table entry_tags (
      id uuid primary key,
      workspace_id uuid not null references workspaces on delete cascade,
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      name text not null,
      name_key text not null check (octet_length(name_key) <= 600),
      is_folder boolean not null,
      created_at timestamptz not null default now()
    );
    create unique index entry_tags_entry on entry_tags (provider_id, md5(path), name_key);
    create index entry_tags_path on entry_tags (provider_id, left(path, 400) collate "C");
    create index entry_tags_name on entry_tags (workspace_id, name_key, id)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
