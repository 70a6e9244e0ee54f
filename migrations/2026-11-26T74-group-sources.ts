import { type Kysely, sql } from 'kysely'

/**
 * Which issuer or directory has named the groups of a member, so that it ends only the memberships that it made. Null for those that an
 * administrator made.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table group_members add column issued_by text check (octet_length(issued_by) <= 1000);
    update group_members set issued_by = (
      select issuer from identities where identities.workspace_id = group_members.workspace_id
        and identities.user_id = group_members.user_id
      order by last_used_at desc nulls last, created_at limit 1
    ) where is_issued;
    alter table group_members drop column is_issued
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
