import { type Kysely, sql } from 'kysely'

/**
 * A btree holds 2,704 bytes, and a path has up to 4,096: its first characters are indexed. Whatever else is indexed and has
 * no length of its own is bounded, so that no value fails in an index. Rows that are there already are not looked at.
 */
export async function up(db: Kysely<never>): Promise<void> {
  const statements = `
    drop index audit_events_path;
    drop index audit_events_to_path;
    create index audit_events_path on audit_events (workspace_id, provider_id, left(path, 250))
      where provider_id is not null;
    create index audit_events_to_path on audit_events (workspace_id, to_provider_id, left(to_path, 250))
      where to_provider_id is not null;
    alter table audit_events
      add constraint audit_events_action_length check (octet_length(action) <= 64) not valid,
      add constraint audit_events_result_length check (octet_length(result) <= 64) not valid;
    alter table users add constraint users_email_key_length check (octet_length(email_key) <= 1024) not valid;
    alter table api_keys add constraint api_keys_key_hash_length check (octet_length(key_hash) = 32) not valid;
    alter table invites add constraint invites_token_hash_length check (octet_length(token_hash) = 32) not valid;
    alter table oauth_states add constraint oauth_states_state_hash_length check (octet_length(state_hash) = 32) not valid;
    alter table rate_limits add constraint rate_limits_key_length check (octet_length(key) = 32) not valid;
    alter table idempotent_uploads
      add constraint idempotent_uploads_key_hash_length check (octet_length(key_hash) = 32) not valid;
    alter table uploads add constraint uploads_id_length check (octet_length(id) <= 64) not valid;
    alter table upload_chunks
      add constraint upload_chunks_upload_id_length check (octet_length(upload_id) <= 64) not valid;
  `
  for (const statement of statements.split(';')) {
    if (statement.trim()) await sql.raw(statement).execute(db)
  }
}
