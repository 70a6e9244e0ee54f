import { type Kysely, sql } from 'kysely'

/**
 * The directories that use SCIM: each has its own users, names groups with its own ids, and ends only what it has made. Before, a
 * workspace had one of them.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table scim_directories (
      id uuid primary key default gen_random_uuid(),
      workspace_id uuid not null references workspaces on delete cascade,
      name text not null,
      issuer text check (octet_length(issuer) <= 1000),
      created_at timestamptz not null default now()
    );
    create index scim_directories_workspace on scim_directories (workspace_id, created_at);
    insert into scim_directories (workspace_id, name, issuer)
      select id, 'SCIM', (
        select issuer from scim_tokens where scim_tokens.workspace_id = workspaces.id
        order by revoked_at is not null, created_at desc limit 1)
      from workspaces
      where exists (select from scim_tokens where scim_tokens.workspace_id = workspaces.id)
        or exists (select from scim_users where scim_users.workspace_id = workspaces.id)
        or exists (select from groups where groups.workspace_id = workspaces.id and is_issued);
    alter table scim_tokens add column directory_id uuid references scim_directories on delete cascade;
    update scim_tokens set directory_id = scim_directories.id from scim_directories
      where scim_directories.workspace_id = scim_tokens.workspace_id;
    alter table scim_tokens alter column directory_id set not null, drop column issuer;
    create index scim_tokens_directory on scim_tokens (directory_id);
    alter table scim_users add column directory_id uuid references scim_directories on delete cascade;
    update scim_users set directory_id = scim_directories.id from scim_directories
      where scim_directories.workspace_id = scim_users.workspace_id;
    drop index scim_users_order;
    alter table scim_users
      alter column directory_id set not null,
      drop constraint scim_users_workspace_id_user_name_key_key,
      drop constraint scim_users_workspace_id_external_id_key,
      add unique (directory_id, user_name_key),
      add unique (directory_id, external_id);
    create index scim_users_order on scim_users (directory_id, created_at, user_id);
    create table scim_group_ids (
      directory_id uuid not null references scim_directories on delete cascade,
      group_id uuid not null references groups on delete cascade,
      external_id text not null check (octet_length(external_id) <= 1000),
      primary key (directory_id, group_id)
    );
    create index scim_group_ids_group on scim_group_ids (group_id);
    insert into scim_group_ids (directory_id, group_id, external_id)
      select scim_directories.id, groups.id, external_id from groups
      join scim_directories on scim_directories.workspace_id = groups.workspace_id where external_id is not null;
    alter table groups add column scim_directory_id uuid references scim_directories on delete set null;
    update groups set scim_directory_id = scim_directories.id from scim_directories
      where scim_directories.workspace_id = groups.workspace_id and is_issued;
    create index groups_scim_directory on groups (scim_directory_id);
    alter table groups drop column external_id, drop column is_issued
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
  // Without a directory there is nothing to change, and no server has to read rights again.
  await sql`
    do $$ begin
      if exists (select from scim_directories) then
        update group_members set issued_by = 'scim:' || scim_directories.id from scim_directories
          where issued_by = 'scim' and scim_directories.workspace_id = group_members.workspace_id;
        update members set deactivated_by = 'scim:' || scim_directories.id from scim_directories
          where deactivated_by = 'scim' and scim_directories.workspace_id = members.workspace_id;
      end if;
    end $$`.execute(db)
}
