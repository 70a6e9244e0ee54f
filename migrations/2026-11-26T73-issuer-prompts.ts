import { type Kysely, sql } from 'kysely'

/** What an issuer asks at each sign-in, and the minutes after which it asks again; 0 for any time. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table issuers
    add column prompt text not null default 'DEFAULT',
    add column max_age_minutes integer not null default 0`.execute(db)
}
