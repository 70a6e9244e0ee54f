import { type Kysely, sql } from 'kysely'

/** The table is unlogged: a crash of the database loses the counts, and counting writes no write-ahead log. */
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
