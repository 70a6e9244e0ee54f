import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    create table oauth_states (
      state_hash bytea primary key,
      provider_id uuid not null references providers on delete cascade,
      workspace_id uuid not null,
      user_id uuid not null,
      sealed bytea not null,
      expires_at timestamptz not null,
      foreign key (workspace_id, user_id) references members on delete cascade
    );
    create index oauth_states_provider_id on oauth_states (provider_id);
    create index oauth_states_member on oauth_states (workspace_id, user_id);
    create index oauth_states_expires_at on oauth_states (expires_at);

    create table provider_tokens (
      provider_id uuid primary key references providers on delete cascade,
      sealed bytea not null,
      expires_at timestamptz not null
    );
  `
  for (const statement of statements.split(';')) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
