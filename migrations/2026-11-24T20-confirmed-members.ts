import { type Kysely, sql } from 'kysely'

/**
 * Whether a member was invited, or an administrator has set their role. Whoever has a role got it in one of these ways. An account
 * without a role may be of anybody who has registered.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table members add column is_confirmed boolean not null default false`.execute(db)
  await sql`update members set is_confirmed = true where role <> 'NONE'`.execute(db)
}
