import { type Kysely, sql } from 'kysely'

/**
 * The languages that people and the workspace have chosen; null for none. Processes keep members in memory, so a change of the language
 * counts as one of rights: see the migration of the rights.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table users add column language text check (octet_length(language) <= 16);
    alter table workspaces add column language text check (octet_length(language) <= 16);
    create trigger users_rights_language after update of language on users
      for each statement execute function rights_change()
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
