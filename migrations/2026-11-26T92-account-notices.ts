import { type Kysely, sql } from 'kysely'

/** Emails to people about changes of the ways to sign in to their account, until they are sent. */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table account_notices (
      id uuid primary key default gen_random_uuid(),
      user_id uuid not null references users on delete cascade,
      kind text not null check (octet_length(kind) <= 64),
      name text,
      address text not null check (octet_length(address) <= 45),
      created_at timestamptz not null default now(),
      attempts integer not null default 0,
      next_attempt_at timestamptz not null default now(),
      claim_id uuid
    );
    create index account_notices_due on account_notices (next_attempt_at);
    create index account_notices_user on account_notices (user_id)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
