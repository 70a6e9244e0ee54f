import { type Kysely, sql } from 'kysely'

/** Whether the issuer of single sign-on has named a group, so that the membership ends when it no longer does. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table group_members add column is_issued boolean not null default false`.execute(db)
}
