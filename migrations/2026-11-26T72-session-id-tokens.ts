import { type Kysely, sql } from 'kysely'

/**
 * `id_token` is the encrypted ID token of sessions that began at an issuer where people can sign out, which is told who signs out. It is
 * empty if it is too long.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table sessions add column id_token bytea`.execute(db)
  await sql`create index sessions_issuer_session on sessions (issuer_session) where issuer_session is not null`.execute(
    db,
  )
}
