import { type Kysely, sql } from 'kysely'

/** The logo, the color and the line of text of a workspace on its public pages. The logo is apart, because few queries need it. */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table workspaces
      add column brand_color text check (octet_length(brand_color) = 7),
      add column brand_text text not null default '',
      add column logo_version text check (octet_length(logo_version) <= 64);
    create table workspace_logos (
      workspace_id uuid primary key references workspaces on delete cascade,
      type text not null check (type in ('image/png', 'image/jpeg', 'image/webp')),
      image bytea not null check (octet_length(image) <= 102400)
    )
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
