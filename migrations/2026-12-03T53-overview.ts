import { type Kysely, sql } from 'kysely'

/**
 * The facts of the overview that no other table has: how much each provider contained on each day, which processes run, and emails
 * that were given up. A catalogue is added up when `usage_due_at` has passed; a claim sets the next time.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table usage_days (
      provider_id uuid not null references providers on delete cascade,
      day date not null,
      files bigint not null,
      bytes bigint not null,
      primary key (provider_id, day)
    );
    alter table catalogues add column usage_due_at timestamptz not null default now();
    create table server_processes (
      id uuid primary key,
      host text not null,
      version text not null,
      node_version text not null,
      started_at timestamptz not null,
      renewed_at timestamptz not null
    );
    create table lost_emails (
      id uuid primary key default gen_random_uuid(),
      at timestamptz not null default now()
    );
    create index lost_emails_at on lost_emails (at)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
