import { type Kysely, sql } from 'kysely'

/**
 * Links for a new password that people ask for themselves: the requests until their email is sent, also those of addresses that nobody
 * here has, and the links in the emails.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table reset_requests (
      id uuid primary key default gen_random_uuid(),
      email text not null check (octet_length(email) <= 1024),
      address text not null check (octet_length(address) <= 45),
      created_at timestamptz not null default now(),
      attempts integer not null default 0,
      next_attempt_at timestamptz not null default now(),
      claim_id uuid
    );
    create index reset_requests_due on reset_requests (next_attempt_at);
    create table mailed_resets (
      token_hash bytea primary key check (octet_length(token_hash) = 32),
      workspace_id uuid not null,
      user_id uuid not null,
      email_key text not null,
      password_digest bytea not null check (octet_length(password_digest) = 32),
      expires_at timestamptz not null,
      foreign key (workspace_id, user_id) references members on delete cascade
    );
    create index mailed_resets_member on mailed_resets (workspace_id, user_id);
    create index mailed_resets_user on mailed_resets (user_id);
    create index mailed_resets_expires_at on mailed_resets (expires_at)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
