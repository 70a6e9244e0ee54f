import { type Kysely, sql } from 'kysely'

/** The owners who may sign in with a password while all others need single sign-on; null if everybody may. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table workspaces add column password_owners uuid[]`.execute(db)
}
