import { type Kysely, sql } from 'kysely'

/** Unlogged: a crash of the database forgets what was counted, and counting costs no write-ahead log. */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create unlogged table rate_limits (
      key bytea primary key,
      hits integer not null,
      ends_at timestamptz not null
    );
    create index rate_limits_ends_at on rate_limits (ends_at);
  `
  for (const statement of statements.split(';')) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
