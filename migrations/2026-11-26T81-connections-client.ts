import { type Kysely, sql } from 'kysely'

/** The connections of an application, and no index for the applications that nobody has connected. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`create index connections_client_id on connections (client_id)`.execute(db)
  await sql`drop index applications_unused`.execute(db)
}
