import { type Kysely, sql } from 'kysely'

/** New workspaces take members by invite. Those that exist keep what their owners have, or have not, chosen. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table workspaces alter column registration set default 'INVITE'`.execute(db)
}
