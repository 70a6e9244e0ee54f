import { type Kysely, sql } from 'kysely'

/**
 * Second factors: TOTP, recovery codes and passkeys, the roles that need a second factor, and sign-ins that wait for one. A session
 * knows the factors that it was given, and when its member last gave one. Sessions that are older have no such time.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    alter table sessions add column verified_at timestamptz;
    alter table sessions alter column verified_at set default now();
    alter table sessions add column factors text[] not null default '{}';
    update sessions set factors = case when identity_id is null then '{PASSWORD}' else '{ISSUER}' end::text[];
    alter table workspaces add column second_factor_roles text[] not null default '{}';
    create table totp_secrets (
      user_id uuid primary key references users on delete cascade,
      secret bytea not null,
      last_step bigint not null,
      created_at timestamptz not null default now(),
      last_used_at timestamptz
    );
    create table recovery_codes (
      code_hash bytea primary key check (octet_length(code_hash) = 32),
      user_id uuid not null references users on delete cascade
    );
    create index recovery_codes_user_id on recovery_codes (user_id);
    create table passkeys (
      id uuid primary key default gen_random_uuid(),
      user_id uuid not null references users on delete cascade,
      credential_id bytea not null unique check (octet_length(credential_id) <= 1023),
      public_key bytea not null check (octet_length(public_key) <= 4096),
      counter bigint not null,
      transports text[] not null,
      is_synced boolean not null,
      name text not null,
      created_at timestamptz not null default now(),
      last_used_at timestamptz
    );
    create index passkeys_user_id on passkeys (user_id);
    create table login_challenges (
      token_hash bytea primary key check (octet_length(token_hash) = 32),
      workspace_id uuid not null,
      user_id uuid not null,
      password_digest bytea,
      identity_id uuid,
      tries int not null default 0,
      expires_at timestamptz not null,
      foreign key (workspace_id, user_id) references members on delete cascade,
      check (num_nonnulls(password_digest, identity_id) = 1)
    );
    create index login_challenges_member on login_challenges (workspace_id, user_id);
    create index login_challenges_expires_at on login_challenges (expires_at);
    create trigger sessions_factors_changed after update of verified_at, factors on sessions
      for each statement execute function rights_change();
    create trigger workspaces_rights_changed after update of second_factor_roles on workspaces
      for each statement execute function rights_change()
  `
  for (const statement of statements.split(';')) await sql.raw(statement).execute(db)
}
