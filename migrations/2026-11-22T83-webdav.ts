import { type Kysely, sql } from 'kysely'

/**
 * Locks and dead properties of WebDAV. Their paths end with "/", so that one path is at or below another if it starts with it.
 * The tables are searched by the beginning of the path, as an index cannot hold the longest paths.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table webdav_locks (
      token uuid primary key,
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      workspace_id uuid not null,
      user_id uuid not null,
      is_exclusive boolean not null,
      is_deep boolean not null,
      owner text not null,
      expires_at timestamptz not null,
      foreign key (workspace_id, user_id) references members on delete cascade
    );
    create index webdav_locks_path on webdav_locks (provider_id, left(path, 400) collate "C");
    create index webdav_locks_member on webdav_locks (workspace_id, user_id);
    create index webdav_locks_expiry on webdav_locks (expires_at);
    create table webdav_properties (
      provider_id uuid not null references providers on delete cascade,
      path text not null,
      name text not null,
      xml text not null
    );
    create unique index webdav_properties_name on webdav_properties (provider_id, md5(path), md5(name));
    create index webdav_properties_path on webdav_properties (provider_id, left(path, 400) collate "C")
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
