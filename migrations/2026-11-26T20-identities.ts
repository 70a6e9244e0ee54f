import { type Kysely, sql } from 'kysely'

/**
 * Identities at OpenID Connect issuers, with which members sign in. A session names the identity that it began with. A sign-in works
 * once: `used_sign_ins` remembers those that have ended until they would have expired.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table identities (
      id uuid primary key default gen_random_uuid(),
      workspace_id uuid not null,
      user_id uuid not null,
      issuer text not null check (octet_length(issuer) <= 1000),
      subject text not null check (octet_length(subject) <= 255),
      email text,
      created_at timestamptz not null default now(),
      last_used_at timestamptz,
      unique (issuer, subject),
      foreign key (workspace_id, user_id) references members on delete cascade
    );
    create index identities_member on identities (workspace_id, user_id);
    alter table sessions add column identity_id uuid;
    alter table sessions add column issuer_session text check (octet_length(issuer_session) <= 1016);
    create index sessions_identity on sessions (identity_id) where identity_id is not null;
    create table used_sign_ins (
      state_hash bytea primary key check (octet_length(state_hash) = 32),
      expires_at timestamptz not null
    );
    create index used_sign_ins_expires_at on used_sign_ins (expires_at)
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
