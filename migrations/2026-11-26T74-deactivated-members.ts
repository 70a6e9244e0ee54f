import { type Kysely, sql } from 'kysely'

/**
 * Members whose credentials are refused until they are reactivated. `deactivated_by` names the directory that did it, null for an
 * administrator. Processes keep members in memory, so the columns also change rights: see the migration of the rights.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table members
      add column deactivated_at timestamptz,
      add column deactivated_by text check (octet_length(deactivated_by) <= 1000);
    drop trigger members_rights_changed on members;
    create trigger members_rights_changed
      after update of workspace_id, user_id, role, provider_access, deactivated_at on members
      for each statement execute function rights_change()
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
