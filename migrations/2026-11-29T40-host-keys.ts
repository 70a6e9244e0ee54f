import { type Kysely, sql } from 'kysely'

/** The keys with which the servers of SFTP prove who they are: one of each type, which all replicas share. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table host_keys (
      type text primary key,
      public_key bytea not null,
      private_key bytea not null,
      created_at timestamptz not null default now()
    )`.execute(db)
}
