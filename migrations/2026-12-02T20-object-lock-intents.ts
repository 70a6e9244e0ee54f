import { type Kysely, sql } from 'kysely'

/**
 * The lock of an object is stored before its content, so that a killed server leaves no object without its lock. Until the content is stored,
 * the lock has the time at which a server finds out whether it ever was, and what was at the path before.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table entry_holds add column due_at timestamptz;
    alter table entry_holds add column seen jsonb;
    create index entry_holds_due on entry_holds (due_at) where due_at is not null
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
