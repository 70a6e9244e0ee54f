account_notices.id uuid not null default gen_random_uuid()
account_notices.user_id uuid not null
account_notices.kind text not null
account_notices.name text
account_notices.address text not null
account_notices.created_at timestamp with time zone not null default now()
account_notices.attempts integer not null default 0
account_notices.next_attempt_at timestamp with time zone not null default now()
account_notices.claim_id uuid
account_notices: account_notices_address_check CHECK ((octet_length(address) <= 45))
account_notices: account_notices_kind_check CHECK ((octet_length(kind) <= 64))
account_notices: account_notices_pkey PRIMARY KEY (id)
account_notices: account_notices_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
CREATE INDEX account_notices_due ON public.account_notices USING btree (next_attempt_at)
CREATE INDEX account_notices_user ON public.account_notices USING btree (user_id)
CREATE UNIQUE INDEX account_notices_pkey ON public.account_notices USING btree (id)
api_keys.id uuid not null default gen_random_uuid()
api_keys.workspace_id uuid not null
api_keys.user_id uuid not null
api_keys.name text not null
api_keys.key_hash bytea not null
api_keys.display_prefix text not null
api_keys.scopes text[] not null
api_keys.provider_access jsonb not null
api_keys.created_at timestamp with time zone not null default now()
api_keys.expires_at timestamp with time zone
api_keys.revoked_at timestamp with time zone
api_keys.last_used_at timestamp with time zone
api_keys.is_connection boolean not null default false
api_keys.public_key bytea
api_keys: api_keys_key_hash_length CHECK ((octet_length(key_hash) = 32)) NOT VALID
api_keys: api_keys_pkey PRIMARY KEY (id)
api_keys: api_keys_public_key_check CHECK ((octet_length(public_key) <= 2048))
api_keys: api_keys_scopes_check CHECK (((cardinality(scopes) > 0) AND (scopes <@ ARRAY['read'::text, 'write'::text, 'admin'::text])))
api_keys: api_keys_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX api_keys_member ON public.api_keys USING btree (workspace_id, user_id)
CREATE UNIQUE INDEX api_keys_key_hash ON public.api_keys USING btree (key_hash)
CREATE UNIQUE INDEX api_keys_pkey ON public.api_keys USING btree (id)
CREATE UNIQUE INDEX api_keys_public_key ON public.api_keys USING btree (public_key, user_id) WHERE (revoked_at IS NULL)
CREATE TRIGGER api_keys_rights_changed AFTER UPDATE OF workspace_id, user_id, name, key_hash, scopes, provider_access, expires_at, revoked_at ON public.api_keys FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER api_keys_rights_deleted AFTER DELETE ON public.api_keys FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER api_keys_rights_truncated AFTER TRUNCATE ON public.api_keys FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
applications.id uuid not null default gen_random_uuid()
applications.name text not null
applications.redirect_uris text[] not null
applications.created_at timestamp with time zone not null default now()
applications.used_at timestamp with time zone
applications.expires_at timestamp with time zone not null
applications: applications_name_check CHECK ((octet_length(name) <= 800))
applications: applications_pkey PRIMARY KEY (id)
CREATE INDEX applications_expires_at ON public.applications USING btree (expires_at)
CREATE UNIQUE INDEX applications_pkey ON public.applications USING btree (id)
approvals.id uuid not null
approvals.workspace_id uuid not null
approvals.user_id uuid not null
approvals.credential_kind text not null
approvals.credential_id uuid not null
approvals.kind text not null
approvals.tool text not null
approvals.call_hash bytea not null
approvals.provider_id uuid not null
approvals.path text not null
approvals.details jsonb not null
approvals.state text not null default 'PENDING'::text
approvals.created_at timestamp with time zone not null default now()
approvals.expires_at timestamp with time zone not null
approvals.decided_by uuid
approvals: approvals_call_hash_check CHECK ((octet_length(call_hash) = 32))
approvals: approvals_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES users(id) ON DELETE SET NULL
approvals: approvals_kind_check CHECK ((kind = ANY (ARRAY['DELETION'::text, 'OVERWRITE'::text])))
approvals: approvals_pkey PRIMARY KEY (id)
approvals: approvals_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
approvals: approvals_state_check CHECK ((state = ANY (ARRAY['PENDING'::text, 'APPROVED'::text, 'REFUSED'::text, 'DONE'::text])))
approvals: approvals_tool_check CHECK ((octet_length(tool) <= 100))
approvals: approvals_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX approvals_decided_by ON public.approvals USING btree (decided_by) WHERE (decided_by IS NOT NULL)
CREATE INDEX approvals_expires_at ON public.approvals USING btree (expires_at)
CREATE INDEX approvals_member ON public.approvals USING btree (workspace_id, user_id)
CREATE INDEX approvals_provider_id ON public.approvals USING btree (provider_id)
CREATE UNIQUE INDEX approvals_call ON public.approvals USING btree (credential_id, call_hash) WHERE (state <> 'DONE'::text)
CREATE UNIQUE INDEX approvals_pkey ON public.approvals USING btree (id)
CREATE TRIGGER approvals_changed AFTER INSERT OR UPDATE ON public.approvals FOR EACH ROW EXECUTE FUNCTION approvals_notify()
audit_events.id uuid not null
audit_events.workspace_id uuid not null
audit_events.at timestamp(3) with time zone not null
audit_events.action text not null
audit_events.result text not null
audit_events.user_id uuid
audit_events.user_email text
audit_events.user_name text
audit_events.credential_kind text
audit_events.credential_id uuid
audit_events.credential_prefix text
audit_events.address text not null
audit_events.request_id text not null
audit_events.provider_id uuid
audit_events.provider_name text
audit_events.path text
audit_events.to_provider_id uuid
audit_events.to_provider_name text
audit_events.to_path text
audit_events.subject_kind text
audit_events.subject_id text
audit_events.bytes bigint
audit_events.count integer not null default 1
audit_events.details jsonb not null default '{}'::jsonb
audit_events: audit_events_action_length CHECK ((octet_length(action) <= 64)) NOT VALID
audit_events: audit_events_credential_kind_check CHECK ((credential_kind = ANY (ARRAY['SESSION'::text, 'API_KEY'::text, 'SHARE'::text, 'SCIM_TOKEN'::text])))
audit_events: audit_events_pkey PRIMARY KEY (id)
audit_events: audit_events_result_length CHECK ((octet_length(result) <= 64)) NOT VALID
CREATE INDEX audit_events_action ON public.audit_events USING btree (workspace_id, action, id)
CREATE INDEX audit_events_changes ON public.audit_events USING btree (workspace_id, id) WHERE (((result = 'OK'::text) OR (action = 'JOB_END'::text)) AND (action = ANY (ARRAY['UPLOAD'::text, 'FOLDER_CREATE'::text, 'RENAME'::text, 'MOVE'::text, 'COPY'::text, 'DELETE'::text, 'RESTORE'::text, 'COMMENT_CREATE'::text, 'JOB_END'::text])))
CREATE INDEX audit_events_credential ON public.audit_events USING btree (workspace_id, credential_id, id) WHERE (credential_id IS NOT NULL)
CREATE INDEX audit_events_failure ON public.audit_events USING btree (workspace_id, result, id) WHERE (result <> 'OK'::text)
CREATE INDEX audit_events_page ON public.audit_events USING btree (workspace_id, id)
CREATE INDEX audit_events_path ON public.audit_events USING btree (workspace_id, provider_id, "left"(path, 250)) WHERE (provider_id IS NOT NULL)
CREATE INDEX audit_events_provider ON public.audit_events USING btree (workspace_id, provider_id, id) WHERE (provider_id IS NOT NULL)
CREATE INDEX audit_events_to_path ON public.audit_events USING btree (workspace_id, to_provider_id, "left"(to_path, 250)) WHERE (to_provider_id IS NOT NULL)
CREATE INDEX audit_events_to_provider ON public.audit_events USING btree (workspace_id, to_provider_id, id) WHERE (to_provider_id IS NOT NULL)
CREATE INDEX audit_events_user ON public.audit_events USING btree (workspace_id, user_id, id) WHERE (user_id IS NOT NULL)
CREATE UNIQUE INDEX audit_events_pkey ON public.audit_events USING btree (id)
CREATE TRIGGER audit_events_arrivals AFTER INSERT ON public.audit_events REFERENCING NEW TABLE AS new_events FOR EACH STATEMENT EXECUTE FUNCTION collect_arrivals()
CREATE TRIGGER audit_events_catalogue AFTER INSERT ON public.audit_events REFERENCING NEW TABLE AS new_events FOR EACH STATEMENT EXECUTE FUNCTION note_catalogue_changes()
CREATE TRIGGER audit_events_entries AFTER INSERT ON public.audit_events REFERENCING NEW TABLE AS new_events FOR EACH STATEMENT EXECUTE FUNCTION notify_of_entries()
CREATE TRIGGER audit_events_push AFTER INSERT ON public.audit_events REFERENCING NEW TABLE AS new_events FOR EACH STATEMENT EXECUTE FUNCTION enqueue_push()
CREATE TRIGGER audit_events_webhooks AFTER INSERT ON public.audit_events REFERENCING NEW TABLE AS new_events FOR EACH STATEMENT EXECUTE FUNCTION enqueue_webhooks()
catalogue_changes.id bigint not null
catalogue_changes.catalogue integer not null
catalogue_changes.kind text not null
catalogue_changes.path text not null
catalogue_changes.to_path text
catalogue_changes.next text
catalogue_changes.is_outside boolean not null default false
catalogue_changes: catalogue_changes_kind_check CHECK ((kind = ANY (ARRAY['ENTRY'::text, 'CREATED'::text, 'REMOVED'::text, 'MOVED'::text, 'FOLDER'::text, 'TREE'::text])))
catalogue_changes: catalogue_changes_path_check CHECK ((octet_length(path) <= 2000))
catalogue_changes: catalogue_changes_pkey PRIMARY KEY (catalogue, id)
catalogue_changes: catalogue_changes_to_path_check CHECK ((octet_length(to_path) <= 2000))
CREATE INDEX catalogue_changes_hidden ON public.catalogue_changes USING btree (catalogue) WHERE (kind = ANY (ARRAY['REMOVED'::text, 'MOVED'::text]))
CREATE UNIQUE INDEX catalogue_changes_pkey ON public.catalogue_changes USING btree (catalogue, id)
catalogue_contents.size bigint
catalogue_contents.modified_at timestamp with time zone
catalogue_contents.queued_id uuid not null default gen_random_uuid()
catalogue_contents.catalogue integer not null
catalogue_contents.path text not null
catalogue_contents.etag text
catalogue_contents.state text not null default 'WAITING'::text
catalogue_contents.failure text
catalogue_contents.folders integer[] not null
catalogue_contents.content text
catalogue_contents.words tsvector
catalogue_contents: catalogue_contents_path_check CHECK ((octet_length(path) <= 2000))
catalogue_contents: catalogue_contents_pkey PRIMARY KEY (catalogue, path)
catalogue_contents: catalogue_contents_state_check CHECK ((state = ANY (ARRAY['WAITING'::text, 'DONE'::text, 'FAILED'::text])))
CREATE INDEX catalogue_contents_failed ON public.catalogue_contents USING btree (catalogue, path) WHERE (state = 'FAILED'::text)
CREATE INDEX catalogue_contents_waiting ON public.catalogue_contents USING btree (catalogue, path) WHERE (state = 'WAITING'::text)
CREATE INDEX catalogue_contents_words ON public.catalogue_contents USING gin (words, folders) WITH (fastupdate=off) WHERE (state = 'DONE'::text)
CREATE UNIQUE INDEX catalogue_contents_pkey ON public.catalogue_contents USING btree (catalogue, path)
catalogue_entries.size bigint
catalogue_entries.modified_at timestamp with time zone
catalogue_entries.file_id bigint
catalogue_entries.catalogue integer not null
catalogue_entries.is_folder boolean not null
catalogue_entries.path text not null
catalogue_entries.name text not null
catalogue_entries.etag text
catalogue_entries.checksums jsonb
catalogue_entries.grams smallint[] not null
catalogue_entries: catalogue_entries_path_check CHECK ((octet_length(path) <= 2000))
catalogue_entries: catalogue_entries_pkey PRIMARY KEY (catalogue, path)
CREATE INDEX catalogue_entries_folders ON public.catalogue_entries USING btree (catalogue, path) WHERE is_folder
CREATE INDEX catalogue_entries_grams ON public.catalogue_entries USING gin (grams)
CREATE INDEX catalogue_entries_ids ON public.catalogue_entries USING btree (file_id) WHERE (file_id IS NOT NULL)
CREATE INDEX catalogue_entries_sizes ON public.catalogue_entries USING btree (catalogue, size) WHERE (NOT is_folder)
CREATE INDEX catalogue_entries_times ON public.catalogue_entries USING btree (catalogue, modified_at) WHERE (NOT is_folder)
CREATE UNIQUE INDEX catalogue_entries_pkey ON public.catalogue_entries USING btree (catalogue, path)
CREATE TRIGGER catalogue_entries_added AFTER INSERT ON public.catalogue_entries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_added_files()
CREATE TRIGGER catalogue_entries_changed AFTER UPDATE ON public.catalogue_entries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_changed_files()
CREATE TRIGGER catalogue_entries_removed AFTER DELETE ON public.catalogue_entries REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_removed_files()
catalogue_expected.due_at timestamp with time zone not null
catalogue_expected.catalogue integer not null
catalogue_expected.path text not null
catalogue_expected: catalogue_expected_path_check CHECK ((octet_length(path) <= 2000))
CREATE INDEX catalogue_expected_due ON public.catalogue_expected USING btree (due_at)
catalogue_folders.files bigint not null
catalogue_folders.bytes bigint not null
catalogue_folders.catalogue integer not null
catalogue_folders.path text not null
catalogue_folders: catalogue_folders_path_check CHECK ((octet_length(path) <= 2000))
catalogue_folders: catalogue_folders_pkey PRIMARY KEY (catalogue, path)
CREATE UNIQUE INDEX catalogue_folders_pkey ON public.catalogue_folders USING btree (catalogue, path)
catalogue_servers.id uuid not null
catalogue_servers.renewed_at timestamp with time zone not null
catalogue_servers.running jsonb not null default '[]'::jsonb
catalogue_servers: catalogue_servers_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX catalogue_servers_pkey ON public.catalogue_servers USING btree (id)
catalogues.id integer not null
catalogues.provider_id uuid
catalogues.mode text not null default 'NAMES'::text
catalogues.entries bigint not null default 0
catalogues.round_started_at timestamp with time zone
catalogues.round_next text
catalogues.round_has_gaps boolean not null default false
catalogues.round_is_first boolean not null default false
catalogues.next_round_at timestamp with time zone not null default now()
catalogues.indexed_at timestamp with time zone
catalogues.has_gaps boolean not null default false
catalogues.failures integer not null default 0
catalogues.failure text
catalogues.retry_at timestamp with time zone
catalogues.followed_at timestamp with time zone
catalogues.claimed_at timestamp with time zone not null default now()
catalogues.lease_id uuid
catalogues.lease_until timestamp with time zone
catalogues.content_next text
catalogues.content_failures integer not null default 0
catalogues.content_retry_at timestamp with time zone
catalogues.content_claimed_at timestamp with time zone not null default now()
catalogues.content_lease_id uuid
catalogues.content_lease_until timestamp with time zone
catalogues.changes_cursor text
catalogues.changes_server uuid
catalogues.changes_retry_at timestamp with time zone
catalogues.usage_due_at timestamp with time zone not null default now()
catalogues: catalogues_mode_check CHECK ((mode = ANY (ARRAY['OFF'::text, 'NAMES'::text, 'CONTENT'::text])))
catalogues: catalogues_pkey PRIMARY KEY (id)
catalogues: catalogues_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE SET NULL
catalogues: catalogues_provider_id_key UNIQUE (provider_id)
CREATE UNIQUE INDEX catalogues_pkey ON public.catalogues USING btree (id)
CREATE UNIQUE INDEX catalogues_provider_id_key ON public.catalogues USING btree (provider_id)
comment_notices.id uuid not null default gen_random_uuid()
comment_notices.comment_id uuid not null
comment_notices.user_id uuid not null
comment_notices.attempts integer not null default 0
comment_notices.next_attempt_at timestamp with time zone default now()
comment_notices.claim_id uuid
comment_notices: comment_notices_comment_id_fkey FOREIGN KEY (comment_id) REFERENCES entry_comments(id) ON DELETE CASCADE
comment_notices: comment_notices_comment_id_user_id_key UNIQUE (comment_id, user_id)
comment_notices: comment_notices_pkey PRIMARY KEY (id)
comment_notices: comment_notices_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
CREATE INDEX comment_notices_due ON public.comment_notices USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL)
CREATE INDEX comment_notices_user ON public.comment_notices USING btree (user_id)
CREATE INDEX comment_notices_waiting ON public.comment_notices USING btree (user_id) WHERE (next_attempt_at IS NOT NULL)
CREATE UNIQUE INDEX comment_notices_comment_id_user_id_key ON public.comment_notices USING btree (comment_id, user_id)
CREATE UNIQUE INDEX comment_notices_pkey ON public.comment_notices USING btree (id)
connections.key_id uuid not null
connections.client_id text not null
connections.client_name text not null
connections.redirect_uri text not null
connections.audience text not null
connections.code_hash bytea not null
connections.code_challenge text not null
connections.code_expires_at timestamp with time zone not null
connections.refresh_hash bytea
connections: connections_audience_check CHECK ((audience = ANY (ARRAY['SERVER'::text, 'MCP'::text])))
connections: connections_client_id_check CHECK ((octet_length(client_id) <= 2000))
connections: connections_client_name_check CHECK ((octet_length(client_name) <= 800))
connections: connections_code_challenge_check CHECK ((octet_length(code_challenge) <= 100))
connections: connections_code_hash_check CHECK ((octet_length(code_hash) = 32))
connections: connections_code_hash_key UNIQUE (code_hash)
connections: connections_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE
connections: connections_pkey PRIMARY KEY (key_id)
connections: connections_redirect_uri_check CHECK ((octet_length(redirect_uri) <= 2000))
connections: connections_refresh_hash_check CHECK ((octet_length(refresh_hash) = 32))
connections: connections_refresh_hash_key UNIQUE (refresh_hash)
CREATE INDEX connections_client_id ON public.connections USING btree (client_id)
CREATE INDEX connections_unused ON public.connections USING btree (code_expires_at) WHERE (refresh_hash IS NULL)
CREATE UNIQUE INDEX connections_code_hash_key ON public.connections USING btree (code_hash)
CREATE UNIQUE INDEX connections_pkey ON public.connections USING btree (key_id)
CREATE UNIQUE INDEX connections_refresh_hash_key ON public.connections USING btree (refresh_hash)
content_checksums.size bigint not null
content_checksums.modified_at timestamp with time zone
content_checksums.read_at timestamp with time zone
content_checksums.provider_id uuid not null
content_checksums.path text not null
content_checksums.etag text
content_checksums.sha256 bytea not null
content_checksums.content_tag text
content_checksums: content_checksums_path_check CHECK ((octet_length(path) <= 2000))
content_checksums: content_checksums_pkey PRIMARY KEY (provider_id, path)
content_checksums: content_checksums_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
content_checksums: content_checksums_sha256_check CHECK ((octet_length(sha256) = 32))
CREATE UNIQUE INDEX content_checksums_pkey ON public.content_checksums USING btree (provider_id, path)
directory_syncs.id text not null
directory_syncs.due_at timestamp with time zone not null
directory_syncs.claim_id uuid
directory_syncs.claimed_until timestamp with time zone
directory_syncs.ended_at timestamp with time zone
directory_syncs.people integer
directory_syncs.error text
directory_syncs: directory_syncs_id_check CHECK ((octet_length(id) <= 1000))
directory_syncs: directory_syncs_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX directory_syncs_pkey ON public.directory_syncs USING btree (id)
entry_comments.id uuid not null
entry_comments.workspace_id uuid not null
entry_comments.provider_id uuid not null
entry_comments.path text not null
entry_comments.is_folder boolean not null
entry_comments.user_id uuid
entry_comments.text text not null
entry_comments.created_at timestamp with time zone not null default now()
entry_comments.edited_at timestamp with time zone
entry_comments: entry_comments_pkey PRIMARY KEY (id)
entry_comments: entry_comments_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
entry_comments: entry_comments_text_check CHECK ((octet_length(text) <= 6000))
entry_comments: entry_comments_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE SET NULL
entry_comments: entry_comments_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX entry_comments_author ON public.entry_comments USING btree (user_id, workspace_id)
CREATE INDEX entry_comments_path ON public.entry_comments USING btree (provider_id, "left"(path, 400) COLLATE "C", id)
CREATE INDEX entry_comments_workspace ON public.entry_comments USING btree (workspace_id)
CREATE UNIQUE INDEX entry_comments_pkey ON public.entry_comments USING btree (id)
entry_holds.id uuid not null
entry_holds.workspace_id uuid not null
entry_holds.provider_id uuid not null
entry_holds.path text not null
entry_holds.reason text not null
entry_holds.held_until timestamp with time zone
entry_holds.user_id uuid
entry_holds.created_at timestamp with time zone not null default now()
entry_holds.released_at timestamp with time zone
entry_holds.object_lock text
entry_holds.version_id uuid
entry_holds.due_at timestamp with time zone
entry_holds.seen jsonb
entry_holds: entry_holds_object_lock_check CHECK ((object_lock = ANY (ARRAY['COMPLIANCE'::text, 'GOVERNANCE'::text, 'LEGAL_HOLD'::text])))
entry_holds: entry_holds_pkey PRIMARY KEY (id)
entry_holds: entry_holds_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
entry_holds: entry_holds_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE SET NULL
entry_holds: entry_holds_version_id_fkey FOREIGN KEY (version_id) REFERENCES file_versions(id) ON DELETE CASCADE
entry_holds: entry_holds_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX entry_holds_created ON public.entry_holds USING btree (provider_id, "left"(path, 400) COLLATE "C") WHERE ((object_lock IS NULL) AND (released_at IS NULL))
CREATE INDEX entry_holds_due ON public.entry_holds USING btree (due_at) WHERE (due_at IS NOT NULL)
CREATE INDEX entry_holds_object_end ON public.entry_holds USING btree (LEAST(held_until, released_at)) WHERE (object_lock IS NOT NULL)
CREATE INDEX entry_holds_path ON public.entry_holds USING btree (provider_id, "left"(path, 400) COLLATE "C") WHERE (released_at IS NULL)
CREATE INDEX entry_holds_user ON public.entry_holds USING btree (user_id)
CREATE INDEX entry_holds_version ON public.entry_holds USING btree (version_id) WHERE (version_id IS NOT NULL)
CREATE INDEX entry_holds_workspace ON public.entry_holds USING btree (workspace_id, id)
CREATE UNIQUE INDEX entry_holds_pkey ON public.entry_holds USING btree (id)
CREATE TRIGGER entry_holds_rights_created AFTER INSERT ON public.entry_holds FOR EACH ROW WHEN ((new.object_lock IS NULL)) EXECUTE FUNCTION rights_change()
entry_locks.token uuid not null
entry_locks.provider_id uuid not null
entry_locks.path text not null
entry_locks.workspace_id uuid not null
entry_locks.user_id uuid not null
entry_locks.is_exclusive boolean not null
entry_locks.is_deep boolean not null
entry_locks.owner text not null
entry_locks.expires_at timestamp with time zone not null
entry_locks: entry_locks_pkey PRIMARY KEY (token)
entry_locks: entry_locks_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
entry_locks: entry_locks_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX entry_locks_expiry ON public.entry_locks USING btree (expires_at)
CREATE INDEX entry_locks_member ON public.entry_locks USING btree (workspace_id, user_id)
CREATE INDEX entry_locks_path ON public.entry_locks USING btree (provider_id, "left"(path, 400) COLLATE "C")
CREATE UNIQUE INDEX entry_locks_pkey ON public.entry_locks USING btree (token)
CREATE TRIGGER entry_locks_rights_created AFTER INSERT ON public.entry_locks REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION entry_locks_rights_change()
entry_properties.provider_id uuid not null
entry_properties.path text not null
entry_properties.name text not null
entry_properties.xml text not null
entry_properties: entry_properties_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
CREATE INDEX entry_properties_path ON public.entry_properties USING btree (provider_id, "left"(path, 400) COLLATE "C")
CREATE UNIQUE INDEX entry_properties_name ON public.entry_properties USING btree (provider_id, md5(path), md5(name))
entry_stars.id uuid not null
entry_stars.workspace_id uuid not null
entry_stars.user_id uuid not null
entry_stars.provider_id uuid not null
entry_stars.path text not null
entry_stars.is_folder boolean not null
entry_stars.created_at timestamp with time zone not null default now()
entry_stars: entry_stars_pkey PRIMARY KEY (id)
entry_stars: entry_stars_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
entry_stars: entry_stars_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX entry_stars_member ON public.entry_stars USING btree (workspace_id, user_id, id)
CREATE INDEX entry_stars_path ON public.entry_stars USING btree (provider_id, "left"(path, 400) COLLATE "C")
CREATE UNIQUE INDEX entry_stars_entry ON public.entry_stars USING btree (provider_id, md5(path), user_id)
CREATE UNIQUE INDEX entry_stars_pkey ON public.entry_stars USING btree (id)
entry_tags.id uuid not null
entry_tags.workspace_id uuid not null
entry_tags.provider_id uuid not null
entry_tags.path text not null
entry_tags.name text not null
entry_tags.name_key text not null
entry_tags.is_folder boolean not null
entry_tags.created_at timestamp with time zone not null default now()
entry_tags: entry_tags_name_key_check CHECK ((octet_length(name_key) <= 600))
entry_tags: entry_tags_pkey PRIMARY KEY (id)
entry_tags: entry_tags_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
entry_tags: entry_tags_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX entry_tags_name ON public.entry_tags USING btree (workspace_id, name_key, id)
CREATE INDEX entry_tags_path ON public.entry_tags USING btree (provider_id, "left"(path, 400) COLLATE "C")
CREATE UNIQUE INDEX entry_tags_entry ON public.entry_tags USING btree (provider_id, md5(path), name_key)
CREATE UNIQUE INDEX entry_tags_pkey ON public.entry_tags USING btree (id)
file_versions.id uuid not null
file_versions.provider_id uuid not null
file_versions.path text not null
file_versions.size bigint
file_versions.modified_at timestamp with time zone
file_versions.etag text
file_versions.user_id uuid not null
file_versions.state text not null
file_versions.replaced_at timestamp with time zone not null default now()
file_versions.expires_at timestamp with time zone not null
file_versions.due_at timestamp with time zone not null
file_versions.charged_to uuid
file_versions: file_versions_pkey PRIMARY KEY (id)
file_versions: file_versions_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
file_versions: file_versions_state_check CHECK ((state = ANY (ARRAY['KEEPING'::text, 'KEPT'::text, 'RESTORING'::text, 'REMOVING'::text])))
CREATE INDEX file_versions_due ON public.file_versions USING btree (due_at)
CREATE INDEX file_versions_path ON public.file_versions USING btree (provider_id, "left"(path, 400) COLLATE "C", id)
CREATE UNIQUE INDEX file_versions_pkey ON public.file_versions USING btree (id)
CREATE TRIGGER count_file_version AFTER INSERT OR UPDATE OF state ON public.file_versions FOR EACH ROW WHEN ((new.state = 'KEPT'::text)) EXECUTE FUNCTION count_file_version()
group_members.group_id uuid not null
group_members.workspace_id uuid not null
group_members.user_id uuid not null
group_members.issued_by text
group_members: group_members_issued_by_check CHECK ((octet_length(issued_by) <= 1000))
group_members: group_members_pkey PRIMARY KEY (workspace_id, user_id, group_id)
group_members: group_members_workspace_id_group_id_fkey FOREIGN KEY (workspace_id, group_id) REFERENCES groups(workspace_id, id) ON DELETE CASCADE
group_members: group_members_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX group_members_group ON public.group_members USING btree (workspace_id, group_id, user_id)
CREATE UNIQUE INDEX group_members_pkey ON public.group_members USING btree (workspace_id, user_id, group_id)
CREATE TRIGGER group_members_rights_changed AFTER UPDATE ON public.group_members FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER group_members_rights_created AFTER INSERT ON public.group_members FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER group_members_rights_deleted AFTER DELETE ON public.group_members FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER group_members_rights_truncated AFTER TRUNCATE ON public.group_members FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
groups.id uuid not null default gen_random_uuid()
groups.workspace_id uuid not null
groups.name text not null
groups.name_key text not null
groups.role text not null
groups.provider_access jsonb not null
groups.created_at timestamp with time zone not null default now()
groups.updated_at timestamp with time zone not null default now()
groups.scim_directory_id uuid
groups: groups_name_key_check CHECK ((octet_length(name_key) <= 1024))
groups: groups_pkey PRIMARY KEY (id)
groups: groups_role_check CHECK ((role = ANY (ARRAY['ADMIN'::text, 'EDITOR'::text, 'VIEWER'::text, 'NONE'::text])))
groups: groups_scim_directory_id_fkey FOREIGN KEY (scim_directory_id) REFERENCES scim_directories(id) ON DELETE SET NULL
groups: groups_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
groups: groups_workspace_id_id_key UNIQUE (workspace_id, id)
groups: groups_workspace_id_name_key_key UNIQUE (workspace_id, name_key)
CREATE INDEX groups_scim_directory ON public.groups USING btree (scim_directory_id)
CREATE UNIQUE INDEX groups_pkey ON public.groups USING btree (id)
CREATE UNIQUE INDEX groups_workspace_id_id_key ON public.groups USING btree (workspace_id, id)
CREATE UNIQUE INDEX groups_workspace_id_name_key_key ON public.groups USING btree (workspace_id, name_key)
CREATE TRIGGER groups_rights_changed AFTER UPDATE OF workspace_id, name, role, provider_access ON public.groups FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER groups_rights_deleted AFTER DELETE ON public.groups FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER groups_rights_truncated AFTER TRUNCATE ON public.groups FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
host_keys.type text not null
host_keys.public_key bytea not null
host_keys.private_key bytea not null
host_keys.created_at timestamp with time zone not null default now()
host_keys: host_keys_pkey PRIMARY KEY (type)
host_keys: host_keys_type_length CHECK ((octet_length(type) <= 64))
CREATE UNIQUE INDEX host_keys_pkey ON public.host_keys USING btree (type)
idempotent_uploads.credential_id uuid not null
idempotent_uploads.key_hash bytea not null
idempotent_uploads.fingerprint bytea not null
idempotent_uploads.attempt uuid not null
idempotent_uploads.held_until timestamp with time zone not null
idempotent_uploads.answer jsonb
idempotent_uploads.created_at timestamp with time zone not null default now()
idempotent_uploads: idempotent_uploads_key_hash_length CHECK ((octet_length(key_hash) = 32)) NOT VALID
idempotent_uploads: idempotent_uploads_pkey PRIMARY KEY (credential_id, key_hash)
CREATE INDEX idempotent_uploads_created_at ON public.idempotent_uploads USING btree (created_at)
CREATE UNIQUE INDEX idempotent_uploads_pkey ON public.idempotent_uploads USING btree (credential_id, key_hash)
identities.id uuid not null default gen_random_uuid()
identities.workspace_id uuid not null
identities.user_id uuid not null
identities.issuer text not null
identities.subject text not null
identities.email text
identities.created_at timestamp with time zone not null default now()
identities.last_used_at timestamp with time zone
identities: identities_issuer_check CHECK ((octet_length(issuer) <= 1000))
identities: identities_issuer_subject_key UNIQUE (issuer, subject)
identities: identities_pkey PRIMARY KEY (id)
identities: identities_subject_check CHECK ((octet_length(subject) <= 255))
identities: identities_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX identities_member ON public.identities USING btree (workspace_id, user_id)
CREATE UNIQUE INDEX identities_issuer_subject_key ON public.identities USING btree (issuer, subject)
CREATE UNIQUE INDEX identities_pkey ON public.identities USING btree (id)
invites.id uuid not null default gen_random_uuid()
invites.workspace_id uuid not null
invites.token_hash bytea not null
invites.role text not null
invites.provider_access jsonb not null
invites.created_by uuid
invites.api_key_id uuid
invites.created_at timestamp with time zone not null default now()
invites.expires_at timestamp with time zone not null
invites.used_at timestamp with time zone
invites.note text
invites: invites_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id) ON DELETE CASCADE
invites: invites_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id) ON DELETE SET NULL
invites: invites_note_check CHECK ((octet_length(note) <= 1000))
invites: invites_pkey PRIMARY KEY (id)
invites: invites_role_check CHECK ((role = ANY (ARRAY['OWNER'::text, 'ADMIN'::text, 'EDITOR'::text, 'VIEWER'::text, 'NONE'::text])))
invites: invites_token_hash_key UNIQUE (token_hash)
invites: invites_token_hash_length CHECK ((octet_length(token_hash) = 32)) NOT VALID
invites: invites_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX invites_api_key_id ON public.invites USING btree (api_key_id)
CREATE INDEX invites_workspace_id ON public.invites USING btree (workspace_id)
CREATE UNIQUE INDEX invites_pkey ON public.invites USING btree (id)
CREATE UNIQUE INDEX invites_token_hash_key ON public.invites USING btree (token_hash)
issuer_tests.credential_id uuid not null
issuer_tests.workspace_id uuid not null
issuer_tests.sealed bytea not null
issuer_tests.expires_at timestamp with time zone not null
issuer_tests: issuer_tests_pkey PRIMARY KEY (credential_id)
issuer_tests: issuer_tests_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX issuer_tests_expires_at ON public.issuer_tests USING btree (expires_at)
CREATE UNIQUE INDEX issuer_tests_pkey ON public.issuer_tests USING btree (credential_id)
issuers.id uuid not null
issuers.workspace_id uuid not null
issuers.name text not null
issuers.issuer text not null
issuers.client_id text not null
issuers.secret bytea not null
issuers.groups_claim text
issuers.domains text[] not null
issuers.group_ids uuid[] not null
issuers.is_enabled boolean not null
issuers.version integer not null default 1
issuers.created_at timestamp with time zone not null default now()
issuers.prompt text not null default 'DEFAULT'::text
issuers.max_age_minutes integer not null default 0
issuers: issuers_issuer_check CHECK ((octet_length(issuer) <= 1000))
issuers: issuers_name_check CHECK ((octet_length(name) <= 800))
issuers: issuers_pkey PRIMARY KEY (id)
issuers: issuers_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
issuers: issuers_workspace_id_issuer_key UNIQUE (workspace_id, issuer)
issuers: issuers_workspace_id_name_key UNIQUE (workspace_id, name)
CREATE UNIQUE INDEX issuers_pkey ON public.issuers USING btree (id)
CREATE UNIQUE INDEX issuers_workspace_id_issuer_key ON public.issuers USING btree (workspace_id, issuer)
CREATE UNIQUE INDEX issuers_workspace_id_name_key ON public.issuers USING btree (workspace_id, name)
job_entries.job_id uuid not null
job_entries.id bigint not null
job_entries.state text not null
job_entries.provider_id uuid not null
job_entries.path text not null
job_entries.target_path text
job_entries.depth integer not null
job_entries.is_started boolean not null default false
job_entries.is_new_target boolean not null default false
job_entries.has_failed boolean not null default false
job_entries.cursor text
job_entries.reason text
job_entries.message text
job_entries.has_skipped boolean not null default false
job_entries.copied json
job_entries.restores json
job_entries.finding json
job_entries: job_entries_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(id) ON DELETE CASCADE
job_entries: job_entries_pkey PRIMARY KEY (job_id, id)
job_entries: job_entries_state_check CHECK ((state = ANY (ARRAY['SOURCE'::text, 'FILE'::text, 'FOLDER'::text, 'EXTRA'::text, 'LISTED'::text, 'KEPT'::text, 'COPIED'::text])))
CREATE INDEX job_entries_depth ON public.job_entries USING btree (job_id, depth) WHERE (state = 'LISTED'::text)
CREATE INDEX job_entries_failed ON public.job_entries USING btree (job_id, id) WHERE (reason IS NOT NULL)
CREATE INDEX job_entries_left ON public.job_entries USING btree (job_id, "left"(path, 400) COLLATE "C") WHERE ((reason IS NOT NULL) OR (state = 'KEPT'::text))
CREATE UNIQUE INDEX job_entries_pkey ON public.job_entries USING btree (job_id, id)
jobs.id uuid not null
jobs.workspace_id uuid not null
jobs.user_id uuid not null
jobs.credential_kind text not null
jobs.credential_id uuid not null
jobs.address text not null
jobs.request_id text not null
jobs.kind text not null
jobs.state text not null default 'QUEUED'::text
jobs.sources jsonb not null
jobs.target jsonb
jobs.conflict text not null
jobs.delete_extra boolean not null default false
jobs.dry_run boolean not null default false
jobs.requested text
jobs.files bigint not null default 0
jobs.bytes bigint not null default 0
jobs.skipped bigint not null default 0
jobs.deleted bigint not null default 0
jobs.failed bigint not null default 0
jobs.pending_files bigint not null default 0
jobs.pending_bytes bigint not null default 0
jobs.total_files bigint
jobs.total_bytes bigint
jobs.bytes_per_second double precision not null default 0
jobs.error_reason text
jobs.error_message text
jobs.created_at timestamp with time zone not null default now()
jobs.started_at timestamp with time zone
jobs.ended_at timestamp with time zone
jobs.lease_id uuid
jobs.lease_until timestamp with time zone
jobs.is_atomic boolean not null default false
jobs.outcome text
jobs.permanent boolean not null default true
jobs.taken_at timestamp with time zone
jobs.restore_at timestamp with time zone
jobs.keeping jsonb
jobs.checks jsonb
jobs.canceled_by uuid
jobs: jobs_conflict_check CHECK ((conflict = ANY (ARRAY['FAIL'::text, 'REPLACE'::text, 'RENAME'::text, 'SKIP'::text, 'NEWER'::text])))
jobs: jobs_credential_kind_check CHECK ((credential_kind = ANY (ARRAY['SESSION'::text, 'API_KEY'::text])))
jobs: jobs_kind_check CHECK ((kind = ANY (ARRAY['COPY'::text, 'MOVE'::text, 'DELETE'::text, 'SYNC'::text, 'CHECKSUM'::text, 'VERIFY'::text, 'RESTORE'::text, 'KEEP_COPIES'::text])))
jobs: jobs_outcome_check CHECK ((outcome = ANY (ARRAY['KEEP'::text, 'UNDO'::text])))
jobs: jobs_pkey PRIMARY KEY (id)
jobs: jobs_requested_check CHECK ((requested = ANY (ARRAY['PAUSE'::text, 'CANCEL'::text])))
jobs: jobs_state_check CHECK ((state = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text, 'PAUSED'::text, 'SUCCEEDED'::text, 'FAILED'::text, 'CANCELED'::text])))
jobs: jobs_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX jobs_active ON public.jobs USING btree (id) WHERE (state = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text]))
CREATE INDEX jobs_ended_at ON public.jobs USING btree (ended_at) WHERE (ended_at IS NOT NULL)
CREATE INDEX jobs_owner ON public.jobs USING btree (workspace_id, user_id) WHERE (state = ANY (ARRAY['QUEUED'::text, 'RUNNING'::text, 'PAUSED'::text]))
CREATE INDEX jobs_taken_at ON public.jobs USING btree (workspace_id, user_id, taken_at)
CREATE INDEX jobs_workspace ON public.jobs USING btree (workspace_id, id)
CREATE UNIQUE INDEX jobs_pkey ON public.jobs USING btree (id)
CREATE TRIGGER jobs_changed AFTER UPDATE ON public.jobs FOR EACH ROW WHEN (((old.state IS DISTINCT FROM new.state) OR (old.lease_until IS DISTINCT FROM new.lease_until))) EXECUTE FUNCTION notify_of_job()
CREATE TRIGGER jobs_created AFTER INSERT ON public.jobs FOR EACH ROW EXECUTE FUNCTION notify_of_job()
kept_files.size bigint not null
kept_files.original_modified_at timestamp with time zone
kept_files.modified_at timestamp with time zone
kept_files.checked_at timestamp with time zone not null default now()
kept_files.kept_folder integer not null
kept_files.is_deleted boolean not null default false
kept_files.folder text not null
kept_files.name text not null
kept_files.original_etag text
kept_files.original_content_tag text
kept_files.etag text
kept_files.content_tag text
kept_files.sha256 bytea not null
kept_files: kept_files_folder_check CHECK ((octet_length(folder) <= 1536))
kept_files: kept_files_kept_folder_fkey FOREIGN KEY (kept_folder) REFERENCES kept_folders(id) ON DELETE CASCADE
kept_files: kept_files_name_check CHECK ((octet_length(name) <= 1024))
kept_files: kept_files_pkey PRIMARY KEY (kept_folder, folder, name)
kept_files: kept_files_sha256_check CHECK ((octet_length(sha256) = 32))
CREATE UNIQUE INDEX kept_files_pkey ON public.kept_files USING btree (kept_folder, folder, name)
kept_folders.id integer not null
kept_folders.key bytea not null
kept_folders.original_provider_id uuid not null
kept_folders.original_path text not null
kept_folders.provider_id uuid not null
kept_folders.path text not null
kept_folders.used_at timestamp with time zone not null default now()
kept_folders: kept_folders_key_check CHECK ((octet_length(key) = 32))
kept_folders: kept_folders_key_key UNIQUE (key)
kept_folders: kept_folders_original_provider_id_fkey FOREIGN KEY (original_provider_id) REFERENCES providers(id) ON DELETE CASCADE
kept_folders: kept_folders_pkey PRIMARY KEY (id)
kept_folders: kept_folders_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
CREATE INDEX kept_folders_copy ON public.kept_folders USING btree (provider_id)
CREATE INDEX kept_folders_original ON public.kept_folders USING btree (original_provider_id)
CREATE UNIQUE INDEX kept_folders_key_key ON public.kept_folders USING btree (key)
CREATE UNIQUE INDEX kept_folders_pkey ON public.kept_folders USING btree (id)
link_invites.user_id uuid not null
link_invites.workspace_id uuid not null
link_invites.token_hash bytea not null
link_invites.created_by uuid not null
link_invites.expires_at timestamp with time zone not null
link_invites: link_invites_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id) ON DELETE CASCADE
link_invites: link_invites_pkey PRIMARY KEY (user_id)
link_invites: link_invites_token_hash_check CHECK ((octet_length(token_hash) = 32))
link_invites: link_invites_token_hash_key UNIQUE (token_hash)
link_invites: link_invites_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
link_invites: link_invites_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX link_invites_created_by ON public.link_invites USING btree (created_by)
CREATE INDEX link_invites_workspace_id ON public.link_invites USING btree (workspace_id)
CREATE UNIQUE INDEX link_invites_pkey ON public.link_invites USING btree (user_id)
CREATE UNIQUE INDEX link_invites_token_hash_key ON public.link_invites USING btree (token_hash)
locks.key bytea not null
locks.holder uuid not null
locks.ends_at timestamp with time zone not null
locks: locks_key_length CHECK ((octet_length(key) = 32)) NOT VALID
locks: locks_pkey PRIMARY KEY (key)
CREATE UNIQUE INDEX locks_pkey ON public.locks USING btree (key)
login_challenges.token_hash bytea not null
login_challenges.workspace_id uuid not null
login_challenges.user_id uuid not null
login_challenges.password_digest bytea
login_challenges.identity_id uuid
login_challenges.tries integer not null default 0
login_challenges.expires_at timestamp with time zone not null
login_challenges: login_challenges_check CHECK ((num_nonnulls(password_digest, identity_id) = 1))
login_challenges: login_challenges_pkey PRIMARY KEY (token_hash)
login_challenges: login_challenges_token_hash_check CHECK ((octet_length(token_hash) = 32))
login_challenges: login_challenges_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX login_challenges_expires_at ON public.login_challenges USING btree (expires_at)
CREATE INDEX login_challenges_member ON public.login_challenges USING btree (workspace_id, user_id)
CREATE UNIQUE INDEX login_challenges_pkey ON public.login_challenges USING btree (token_hash)
lost_emails.id uuid not null default gen_random_uuid()
lost_emails.at timestamp with time zone not null default now()
lost_emails: lost_emails_pkey PRIMARY KEY (id)
CREATE INDEX lost_emails_at ON public.lost_emails USING btree (at)
CREATE UNIQUE INDEX lost_emails_pkey ON public.lost_emails USING btree (id)
mailed_resets.token_hash bytea not null
mailed_resets.workspace_id uuid not null
mailed_resets.user_id uuid not null
mailed_resets.email_key text not null
mailed_resets.password_digest bytea not null
mailed_resets.expires_at timestamp with time zone not null
mailed_resets: mailed_resets_password_digest_check CHECK ((octet_length(password_digest) = 32))
mailed_resets: mailed_resets_pkey PRIMARY KEY (token_hash)
mailed_resets: mailed_resets_token_hash_check CHECK ((octet_length(token_hash) = 32))
mailed_resets: mailed_resets_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX mailed_resets_expires_at ON public.mailed_resets USING btree (expires_at)
CREATE INDEX mailed_resets_member ON public.mailed_resets USING btree (workspace_id, user_id)
CREATE INDEX mailed_resets_user ON public.mailed_resets USING btree (user_id)
CREATE UNIQUE INDEX mailed_resets_pkey ON public.mailed_resets USING btree (token_hash)
members.workspace_id uuid not null
members.user_id uuid not null
members.role text not null
members.provider_access jsonb not null
members.created_at timestamp(3) with time zone not null default now()
members.is_confirmed boolean not null default false
members.deactivated_at timestamp with time zone
members.deactivated_by text
members: members_deactivated_by_check CHECK ((octet_length(deactivated_by) <= 1000))
members: members_pkey PRIMARY KEY (workspace_id, user_id)
members: members_role_check CHECK ((role = ANY (ARRAY['OWNER'::text, 'ADMIN'::text, 'EDITOR'::text, 'VIEWER'::text, 'NONE'::text])))
members: members_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
members: members_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX members_page ON public.members USING btree (workspace_id, created_at, user_id)
CREATE INDEX members_user_id ON public.members USING btree (user_id)
CREATE UNIQUE INDEX members_pkey ON public.members USING btree (workspace_id, user_id)
CREATE TRIGGER members_rights_changed AFTER UPDATE OF workspace_id, user_id, role, provider_access, deactivated_at ON public.members FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER members_rights_deleted AFTER DELETE ON public.members FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER members_rights_truncated AFTER TRUNCATE ON public.members FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
oauth_states.state_hash bytea not null
oauth_states.provider_id uuid not null
oauth_states.workspace_id uuid not null
oauth_states.user_id uuid not null
oauth_states.sealed bytea not null
oauth_states.expires_at timestamp with time zone not null
oauth_states: oauth_states_pkey PRIMARY KEY (state_hash)
oauth_states: oauth_states_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
oauth_states: oauth_states_state_hash_length CHECK ((octet_length(state_hash) = 32)) NOT VALID
oauth_states: oauth_states_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX oauth_states_expires_at ON public.oauth_states USING btree (expires_at)
CREATE INDEX oauth_states_member ON public.oauth_states USING btree (workspace_id, user_id)
CREATE INDEX oauth_states_provider_id ON public.oauth_states USING btree (provider_id)
CREATE UNIQUE INDEX oauth_states_pkey ON public.oauth_states USING btree (state_hash)
object_lock_settings.provider_id uuid not null
object_lock_settings.mode text
object_lock_settings.days integer
object_lock_settings: object_lock_settings_check CHECK (((mode IS NULL) = (days IS NULL)))
object_lock_settings: object_lock_settings_days_check CHECK (((days >= 1) AND (days <= 36500)))
object_lock_settings: object_lock_settings_mode_check CHECK ((mode = ANY (ARRAY['COMPLIANCE'::text, 'GOVERNANCE'::text])))
object_lock_settings: object_lock_settings_pkey PRIMARY KEY (provider_id)
object_lock_settings: object_lock_settings_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
CREATE UNIQUE INDEX object_lock_settings_pkey ON public.object_lock_settings USING btree (provider_id)
CREATE TRIGGER object_lock_settings_rights_changed AFTER INSERT OR UPDATE ON public.object_lock_settings FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
outside_changes.id uuid not null
outside_changes.catalogue integer not null
outside_changes.kind text not null
outside_changes.path text not null
outside_changes.at timestamp with time zone not null default now()
outside_changes.published_at timestamp with time zone
outside_changes: outside_changes_kind_check CHECK ((kind = ANY (ARRAY['WRITTEN'::text, 'REMOVED'::text, 'TREE_CHANGED'::text])))
outside_changes: outside_changes_path_check CHECK ((octet_length(path) <= 2000))
outside_changes: outside_changes_pkey PRIMARY KEY (id)
CREATE INDEX outside_changes_published ON public.outside_changes USING btree (published_at) WHERE (published_at IS NOT NULL)
CREATE INDEX outside_changes_waiting ON public.outside_changes USING btree (at) WHERE (published_at IS NULL)
CREATE UNIQUE INDEX outside_changes_pkey ON public.outside_changes USING btree (id)
passkeys.id uuid not null default gen_random_uuid()
passkeys.user_id uuid not null
passkeys.credential_id bytea not null
passkeys.public_key bytea not null
passkeys.counter bigint not null
passkeys.transports text[] not null
passkeys.is_synced boolean not null
passkeys.name text not null
passkeys.created_at timestamp with time zone not null default now()
passkeys.last_used_at timestamp with time zone
passkeys: passkeys_credential_id_check CHECK ((octet_length(credential_id) <= 1023))
passkeys: passkeys_credential_id_key UNIQUE (credential_id)
passkeys: passkeys_pkey PRIMARY KEY (id)
passkeys: passkeys_public_key_check CHECK ((octet_length(public_key) <= 4096))
passkeys: passkeys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
CREATE INDEX passkeys_user_id ON public.passkeys USING btree (user_id)
CREATE UNIQUE INDEX passkeys_credential_id_key ON public.passkeys USING btree (credential_id)
CREATE UNIQUE INDEX passkeys_pkey ON public.passkeys USING btree (id)
password_resets.user_id uuid not null
password_resets.workspace_id uuid not null
password_resets.token_hash bytea not null
password_resets.created_by uuid not null
password_resets.expires_at timestamp with time zone not null
password_resets: password_resets_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id) ON DELETE CASCADE
password_resets: password_resets_pkey PRIMARY KEY (user_id)
password_resets: password_resets_token_hash_check CHECK ((octet_length(token_hash) = 32))
password_resets: password_resets_token_hash_key UNIQUE (token_hash)
password_resets: password_resets_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
password_resets: password_resets_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX password_resets_created_by ON public.password_resets USING btree (created_by)
CREATE INDEX password_resets_workspace_id ON public.password_resets USING btree (workspace_id)
CREATE UNIQUE INDEX password_resets_pkey ON public.password_resets USING btree (user_id)
CREATE UNIQUE INDEX password_resets_token_hash_key ON public.password_resets USING btree (token_hash)
provider_tokens.provider_id uuid not null
provider_tokens.sealed bytea not null
provider_tokens.expires_at timestamp with time zone not null
provider_tokens.refreshing_until timestamp with time zone
provider_tokens: provider_tokens_pkey PRIMARY KEY (provider_id)
provider_tokens: provider_tokens_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
CREATE UNIQUE INDEX provider_tokens_pkey ON public.provider_tokens USING btree (provider_id)
providers.id uuid not null default gen_random_uuid()
providers.workspace_id uuid not null
providers.type text not null
providers.name text not null
providers.config jsonb not null
providers.secrets bytea
providers.status text not null
providers.status_reason text
providers.version integer not null default 1
providers.created_at timestamp with time zone not null default now()
providers.job_files_at_once integer not null default 16
providers.job_bytes_per_second bigint
providers.slug text not null
providers.trash_days smallint
providers.version_count smallint
providers.version_days smallint
providers.encryption jsonb
providers.encryption_secrets bytea
providers.root_id text
providers: providers_encryption_has_secrets CHECK (((encryption IS NULL) = (encryption_secrets IS NULL)))
providers: providers_job_bytes_per_second_check CHECK ((job_bytes_per_second >= 65536))
providers: providers_job_files_at_once_check CHECK (((job_files_at_once >= 1) AND (job_files_at_once <= 128)))
providers: providers_pkey PRIMARY KEY (id)
providers: providers_slug_check CHECK (((slug ~ '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$'::text) AND (octet_length(slug) <= 63)))
providers: providers_status_check CHECK ((status = ANY (ARRAY['CONNECTED'::text, 'NEEDS_AUTHORIZATION'::text, 'NEEDS_RECONNECT'::text, 'UNAVAILABLE'::text])))
providers: providers_trash_days_check CHECK (((trash_days >= 0) AND (trash_days <= 3650)))
providers: providers_version_count_check CHECK (((version_count >= 0) AND (version_count <= 1000)))
providers: providers_version_days_check CHECK (((version_days >= 1) AND (version_days <= 3650)))
providers: providers_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
providers: providers_workspace_slug UNIQUE (workspace_id, slug)
CREATE INDEX providers_workspace_id ON public.providers USING btree (workspace_id, created_at, id)
CREATE UNIQUE INDEX providers_pkey ON public.providers USING btree (id)
CREATE UNIQUE INDEX providers_workspace_slug ON public.providers USING btree (workspace_id, slug)
CREATE TRIGGER count_new_provider AFTER INSERT ON public.providers FOR EACH ROW EXECUTE FUNCTION count_new_provider()
CREATE TRIGGER providers_catalogue_created AFTER INSERT ON public.providers FOR EACH ROW EXECUTE FUNCTION create_catalogue()
CREATE TRIGGER providers_catalogue_replaced AFTER UPDATE OF config, status ON public.providers FOR EACH ROW WHEN (((old.config IS DISTINCT FROM new.config) OR ((old.status = ANY (ARRAY['NEEDS_AUTHORIZATION'::text, 'NEEDS_RECONNECT'::text])) AND (new.status = 'CONNECTED'::text)))) EXECUTE FUNCTION replace_catalogue()
CREATE TRIGGER providers_contents_forgotten AFTER UPDATE OF config ON public.providers FOR EACH ROW WHEN (((old.config - '{accessKeyId,clientId,connections,continuesUploads,fingerprint,hostKey,maxBytes}'::text[]) IS DISTINCT FROM (new.config - '{accessKeyId,clientId,connections,continuesUploads,fingerprint,hostKey,maxBytes}'::text[]))) EXECUTE FUNCTION forget_contents()
CREATE TRIGGER providers_rights_changed AFTER UPDATE OF workspace_id, slug, version ON public.providers FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER providers_rights_deleted AFTER DELETE ON public.providers FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER providers_rights_truncated AFTER TRUNCATE ON public.providers FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER providers_versions_changed AFTER UPDATE OF version_count, version_days ON public.providers FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
push_keys.id smallint not null default 1
push_keys.public_key bytea not null
push_keys.private_key bytea not null
push_keys.created_at timestamp with time zone not null default now()
push_keys: push_keys_id_check CHECK ((id = 1))
push_keys: push_keys_pkey PRIMARY KEY (id)
push_keys: push_keys_public_key_check CHECK ((octet_length(public_key) = 65))
CREATE UNIQUE INDEX push_keys_pkey ON public.push_keys USING btree (id)
push_messages.id uuid not null default gen_random_uuid()
push_messages.subscription_id uuid not null
push_messages.event text not null
push_messages.subject_id text not null
push_messages.count integer not null default 1
push_messages.since timestamp with time zone not null default now()
push_messages.attempts integer not null default 0
push_messages.next_attempt_at timestamp with time zone not null default now()
push_messages.claim_id uuid
push_messages: push_messages_event_check CHECK ((octet_length(event) <= 32))
push_messages: push_messages_pkey PRIMARY KEY (id)
push_messages: push_messages_subject_id_check CHECK ((octet_length(subject_id) <= 64))
push_messages: push_messages_subscription_id_event_subject_id_key UNIQUE (subscription_id, event, subject_id)
push_messages: push_messages_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES push_subscriptions(id) ON DELETE CASCADE
CREATE INDEX push_messages_due ON public.push_messages USING btree (next_attempt_at)
CREATE UNIQUE INDEX push_messages_pkey ON public.push_messages USING btree (id)
CREATE UNIQUE INDEX push_messages_subscription_id_event_subject_id_key ON public.push_messages USING btree (subscription_id, event, subject_id)
push_subscriptions.id uuid not null
push_subscriptions.workspace_id uuid not null
push_subscriptions.user_id uuid not null
push_subscriptions.session_id uuid not null
push_subscriptions.endpoint text not null
push_subscriptions.public_key bytea not null
push_subscriptions.auth bytea not null
push_subscriptions.events text[] not null
push_subscriptions.language text
push_subscriptions.created_at timestamp with time zone not null default now()
push_subscriptions.last_used_at timestamp with time zone
push_subscriptions: push_subscriptions_auth_check CHECK ((octet_length(auth) = 16))
push_subscriptions: push_subscriptions_endpoint_check CHECK ((octet_length(endpoint) <= 1000))
push_subscriptions: push_subscriptions_endpoint_key UNIQUE (endpoint)
push_subscriptions: push_subscriptions_pkey PRIMARY KEY (id)
push_subscriptions: push_subscriptions_public_key_check CHECK ((octet_length(public_key) = 65))
push_subscriptions: push_subscriptions_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
push_subscriptions: push_subscriptions_session_id_key UNIQUE (session_id)
push_subscriptions: push_subscriptions_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX push_subscriptions_member ON public.push_subscriptions USING btree (workspace_id, user_id)
CREATE UNIQUE INDEX push_subscriptions_endpoint_key ON public.push_subscriptions USING btree (endpoint)
CREATE UNIQUE INDEX push_subscriptions_pkey ON public.push_subscriptions USING btree (id)
CREATE UNIQUE INDEX push_subscriptions_session_id_key ON public.push_subscriptions USING btree (session_id)
quota_changes.id text not null
quota_changes.provider_id uuid not null
quota_changes.workspace_id uuid not null
quota_changes.user_id uuid not null
quota_changes.path text not null
quota_changes.is_tree boolean not null
quota_changes.bytes bigint not null
quota_changes.rules uuid[] not null
quota_changes.rule_bytes bigint[] not null
quota_changes.rule_files bigint[] not null
quota_changes.upload_id text
quota_changes.holder uuid
quota_changes.due_at timestamp with time zone
quota_changes.source_path text
quota_changes.stored_size bigint
quota_changes.begun_at timestamp with time zone not null default now()
quota_changes: quota_changes_id_check CHECK ((octet_length(id) <= 100))
quota_changes: quota_changes_pkey PRIMARY KEY (id)
quota_changes: quota_changes_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
quota_changes: quota_changes_upload_id_check CHECK ((octet_length(upload_id) <= 100))
quota_changes: quota_changes_upload_id_fkey FOREIGN KEY (upload_id) REFERENCES uploads(id) ON DELETE CASCADE
CREATE INDEX quota_changes_due ON public.quota_changes USING btree (due_at) WHERE (due_at IS NOT NULL)
CREATE INDEX quota_changes_holder ON public.quota_changes USING btree (holder) WHERE (holder IS NOT NULL)
CREATE INDEX quota_changes_provider ON public.quota_changes USING btree (provider_id)
CREATE INDEX quota_changes_running ON public.quota_changes USING btree (provider_id) WHERE (due_at IS NOT NULL)
CREATE INDEX quota_changes_upload ON public.quota_changes USING btree (upload_id) WHERE (upload_id IS NOT NULL)
CREATE UNIQUE INDEX quota_changes_pkey ON public.quota_changes USING btree (id)
CREATE TRIGGER quota_changes_delete AFTER DELETE ON public.quota_changes REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION quota_changes_delete()
quota_counts.id uuid not null
quota_counts.counted_at timestamp with time zone
quota_counts.lease_id uuid
quota_counts.due_at timestamp with time zone not null default now()
quota_counts.wanted_at timestamp with time zone
quota_counts: quota_counts_id_fkey FOREIGN KEY (id) REFERENCES providers(id) ON DELETE CASCADE
quota_counts: quota_counts_pkey PRIMARY KEY (id)
CREATE INDEX quota_counts_due ON public.quota_counts USING btree (due_at)
CREATE UNIQUE INDEX quota_counts_pkey ON public.quota_counts USING btree (id)
quota_files.provider_id uuid not null
quota_files.workspace_id uuid not null
quota_files.user_id uuid
quota_files.size bigint not null
quota_files.changed_at timestamp with time zone not null
quota_files.counted_at timestamp with time zone
quota_files.path text not null
quota_files.charged_path text not null
quota_files: quota_files_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
CREATE INDEX quota_files_path ON public.quota_files USING btree (provider_id, "left"(path, 400) COLLATE "C")
CREATE INDEX quota_files_user ON public.quota_files USING btree (workspace_id, user_id) WHERE (user_id IS NOT NULL)
CREATE UNIQUE INDEX quota_files_file ON public.quota_files USING btree (provider_id, md5(path))
CREATE TRIGGER quota_files_delete AFTER DELETE ON public.quota_files REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION quota_files_delete()
CREATE TRIGGER quota_files_insert AFTER INSERT ON public.quota_files REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION quota_files_insert()
CREATE TRIGGER quota_files_update AFTER UPDATE ON public.quota_files REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION quota_files_update()
quota_marks.provider_id uuid not null
quota_marks.made_at timestamp with time zone not null
quota_marks.is_new boolean not null
quota_marks.path text not null
quota_marks: quota_marks_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
CREATE INDEX quota_marks_made ON public.quota_marks USING btree (provider_id, made_at)
quota_rules.id uuid not null
quota_rules.workspace_id uuid not null
quota_rules.provider_id uuid
quota_rules.path text
quota_rules.user_id uuid
quota_rules.max_bytes bigint
quota_rules.max_files bigint
quota_rules.used_bytes bigint not null default 0
quota_rules.used_files bigint not null default 0
quota_rules.reserved_bytes bigint not null default 0
quota_rules.reserved_files bigint not null default 0
quota_rules.created_at timestamp with time zone not null default now()
quota_rules: quota_rules_check CHECK ((((provider_id IS NULL) = (path IS NULL)) AND ((provider_id IS NULL) <> (user_id IS NULL))))
quota_rules: quota_rules_max_bytes_check CHECK ((max_bytes >= 0))
quota_rules: quota_rules_max_files_check CHECK ((max_files >= 0))
quota_rules: quota_rules_pkey PRIMARY KEY (id)
quota_rules: quota_rules_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
quota_rules: quota_rules_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
quota_rules: quota_rules_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX quota_rules_workspace ON public.quota_rules USING btree (workspace_id, id)
CREATE UNIQUE INDEX quota_rules_member ON public.quota_rules USING btree (workspace_id, user_id) WHERE (user_id IS NOT NULL)
CREATE UNIQUE INDEX quota_rules_path ON public.quota_rules USING btree (provider_id, md5(path)) WHERE (provider_id IS NOT NULL)
CREATE UNIQUE INDEX quota_rules_pkey ON public.quota_rules USING btree (id)
CREATE TRIGGER quota_rules_rights_created AFTER INSERT ON public.quota_rules FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER quota_rules_rights_deleted AFTER DELETE ON public.quota_rules FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
rate_limits.key bytea not null
rate_limits.hits integer not null
rate_limits.ends_at timestamp with time zone not null
rate_limits: rate_limits_key_length CHECK ((octet_length(key) = 32)) NOT VALID
rate_limits: rate_limits_pkey PRIMARY KEY (key)
CREATE INDEX rate_limits_ends_at ON public.rate_limits USING btree (ends_at)
CREATE UNIQUE INDEX rate_limits_pkey ON public.rate_limits USING btree (key)
recovery_codes.code_hash bytea not null
recovery_codes.user_id uuid not null
recovery_codes: recovery_codes_code_hash_check CHECK ((octet_length(code_hash) = 32))
recovery_codes: recovery_codes_pkey PRIMARY KEY (code_hash)
recovery_codes: recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
CREATE INDEX recovery_codes_user_id ON public.recovery_codes USING btree (user_id)
CREATE UNIQUE INDEX recovery_codes_pkey ON public.recovery_codes USING btree (code_hash)
reset_requests.id uuid not null default gen_random_uuid()
reset_requests.email text not null
reset_requests.address text not null
reset_requests.created_at timestamp with time zone not null default now()
reset_requests.attempts integer not null default 0
reset_requests.next_attempt_at timestamp with time zone not null default now()
reset_requests.claim_id uuid
reset_requests: reset_requests_address_check CHECK ((octet_length(address) <= 45))
reset_requests: reset_requests_email_check CHECK ((octet_length(email) <= 1024))
reset_requests: reset_requests_pkey PRIMARY KEY (id)
CREATE INDEX reset_requests_due ON public.reset_requests USING btree (next_attempt_at)
CREATE UNIQUE INDEX reset_requests_pkey ON public.reset_requests USING btree (id)
rights_changes.id uuid not null default gen_random_uuid()
rights_changes: rights_changes_count TRIGGER DEFERRABLE INITIALLY DEFERRED
rights_changes: rights_changes_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX rights_changes_pkey ON public.rights_changes USING btree (id)
CREATE CONSTRAINT TRIGGER rights_changes_count AFTER INSERT ON public.rights_changes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION raise_rights_counter()
rights_counter.is_only boolean not null default true
rights_counter.counter bigint not null
rights_counter.epoch text not null
rights_counter.began_at timestamp with time zone not null
rights_counter: rights_counter_is_only_check CHECK (is_only)
rights_counter: rights_counter_pkey PRIMARY KEY (is_only)
CREATE UNIQUE INDEX rights_counter_pkey ON public.rights_counter USING btree (is_only)
rights_readers.id uuid not null
rights_readers.seen bigint not null
rights_readers.epoch text not null
rights_readers.renewed_at timestamp with time zone not null
rights_readers: rights_readers_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX rights_readers_pkey ON public.rights_readers USING btree (id)
schedules.id uuid not null
schedules.workspace_id uuid not null
schedules.user_id uuid not null
schedules.credential_kind text not null
schedules.credential_id uuid not null
schedules.name text not null
schedules.cron text not null
schedules.time_zone text not null
schedules.job jsonb not null
schedules.next_run_at timestamp with time zone
schedules.error_reason text
schedules.error_message text
schedules.last_job_id uuid
schedules.last_skipped_at timestamp with time zone
schedules.claim_id uuid
schedules.claimed_until timestamp with time zone
schedules.created_at timestamp with time zone not null default now()
schedules: schedules_credential_kind_check CHECK ((credential_kind = ANY (ARRAY['SESSION'::text, 'API_KEY'::text])))
schedules: schedules_pkey PRIMARY KEY (id)
schedules: schedules_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX schedules_due ON public.schedules USING btree (next_run_at) WHERE (next_run_at IS NOT NULL)
CREATE INDEX schedules_owner ON public.schedules USING btree (workspace_id, user_id)
CREATE INDEX schedules_workspace ON public.schedules USING btree (workspace_id, id)
CREATE UNIQUE INDEX schedules_pkey ON public.schedules USING btree (id)
scim_directories.id uuid not null default gen_random_uuid()
scim_directories.workspace_id uuid not null
scim_directories.name text not null
scim_directories.issuer text
scim_directories.created_at timestamp with time zone not null default now()
scim_directories: scim_directories_issuer_check CHECK ((octet_length(issuer) <= 1000))
scim_directories: scim_directories_pkey PRIMARY KEY (id)
scim_directories: scim_directories_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX scim_directories_workspace ON public.scim_directories USING btree (workspace_id, created_at)
CREATE UNIQUE INDEX scim_directories_pkey ON public.scim_directories USING btree (id)
scim_group_ids.directory_id uuid not null
scim_group_ids.group_id uuid not null
scim_group_ids.external_id text not null
scim_group_ids: scim_group_ids_directory_id_fkey FOREIGN KEY (directory_id) REFERENCES scim_directories(id) ON DELETE CASCADE
scim_group_ids: scim_group_ids_external_id_check CHECK ((octet_length(external_id) <= 1000))
scim_group_ids: scim_group_ids_group_id_fkey FOREIGN KEY (group_id) REFERENCES groups(id) ON DELETE CASCADE
scim_group_ids: scim_group_ids_pkey PRIMARY KEY (directory_id, group_id)
CREATE INDEX scim_group_ids_group ON public.scim_group_ids USING btree (group_id)
CREATE UNIQUE INDEX scim_group_ids_pkey ON public.scim_group_ids USING btree (directory_id, group_id)
scim_tokens.id uuid not null default gen_random_uuid()
scim_tokens.workspace_id uuid not null
scim_tokens.name text not null
scim_tokens.token_hash bytea not null
scim_tokens.display_prefix text not null
scim_tokens.created_by uuid
scim_tokens.created_at timestamp with time zone not null default now()
scim_tokens.last_used_at timestamp with time zone
scim_tokens.revoked_at timestamp with time zone
scim_tokens.directory_id uuid not null
scim_tokens: scim_tokens_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id) ON DELETE SET NULL
scim_tokens: scim_tokens_directory_id_fkey FOREIGN KEY (directory_id) REFERENCES scim_directories(id) ON DELETE CASCADE
scim_tokens: scim_tokens_pkey PRIMARY KEY (id)
scim_tokens: scim_tokens_token_hash_check CHECK ((octet_length(token_hash) = 32))
scim_tokens: scim_tokens_token_hash_key UNIQUE (token_hash)
scim_tokens: scim_tokens_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX scim_tokens_created_by ON public.scim_tokens USING btree (created_by)
CREATE INDEX scim_tokens_directory ON public.scim_tokens USING btree (directory_id)
CREATE INDEX scim_tokens_workspace ON public.scim_tokens USING btree (workspace_id, created_at)
CREATE UNIQUE INDEX scim_tokens_pkey ON public.scim_tokens USING btree (id)
CREATE UNIQUE INDEX scim_tokens_token_hash_key ON public.scim_tokens USING btree (token_hash)
scim_users.workspace_id uuid not null
scim_users.user_id uuid not null
scim_users.user_name text not null
scim_users.user_name_key text not null
scim_users.external_id text
scim_users.given_name text
scim_users.family_name text
scim_users.created_at timestamp with time zone not null default now()
scim_users.updated_at timestamp with time zone not null default now()
scim_users.directory_id uuid not null
scim_users: scim_users_directory_id_external_id_key UNIQUE (directory_id, external_id)
scim_users: scim_users_directory_id_fkey FOREIGN KEY (directory_id) REFERENCES scim_directories(id) ON DELETE CASCADE
scim_users: scim_users_directory_id_user_name_key_key UNIQUE (directory_id, user_name_key)
scim_users: scim_users_external_id_check CHECK ((octet_length(external_id) <= 1000))
scim_users: scim_users_pkey PRIMARY KEY (workspace_id, user_id)
scim_users: scim_users_user_name_key_check CHECK ((octet_length(user_name_key) <= 1024))
scim_users: scim_users_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX scim_users_order ON public.scim_users USING btree (directory_id, created_at, user_id)
CREATE UNIQUE INDEX scim_users_directory_id_external_id_key ON public.scim_users USING btree (directory_id, external_id)
CREATE UNIQUE INDEX scim_users_directory_id_user_name_key_key ON public.scim_users USING btree (directory_id, user_name_key)
CREATE UNIQUE INDEX scim_users_pkey ON public.scim_users USING btree (workspace_id, user_id)
server_processes.id uuid not null
server_processes.host text not null
server_processes.version text not null
server_processes.node_version text not null
server_processes.started_at timestamp with time zone not null
server_processes.renewed_at timestamp with time zone not null
server_processes: server_processes_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX server_processes_pkey ON public.server_processes USING btree (id)
sessions.id uuid not null default gen_random_uuid()
sessions.workspace_id uuid not null
sessions.user_id uuid not null
sessions.created_at timestamp with time zone not null default now()
sessions.expires_at timestamp with time zone not null
sessions.revoked_at timestamp with time zone
sessions.address text
sessions.user_agent text
sessions.identity_id uuid
sessions.issuer_session text
sessions.verified_at timestamp with time zone default now()
sessions.factors text[] not null default '{}'::text[]
sessions.id_token bytea
sessions: sessions_address_check CHECK ((octet_length(address) <= 200))
sessions: sessions_issuer_session_check CHECK ((octet_length(issuer_session) <= 1016))
sessions: sessions_pkey PRIMARY KEY (id)
sessions: sessions_user_agent_check CHECK ((octet_length(user_agent) <= 1000))
sessions: sessions_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX sessions_expires_at ON public.sessions USING btree (expires_at)
CREATE INDEX sessions_identity ON public.sessions USING btree (identity_id) WHERE (identity_id IS NOT NULL)
CREATE INDEX sessions_issuer_session ON public.sessions USING btree (issuer_session) WHERE (issuer_session IS NOT NULL)
CREATE INDEX sessions_member ON public.sessions USING btree (workspace_id, user_id)
CREATE UNIQUE INDEX sessions_pkey ON public.sessions USING btree (id)
CREATE TRIGGER sessions_end_push AFTER UPDATE OF revoked_at ON public.sessions FOR EACH ROW WHEN ((new.revoked_at IS NOT NULL)) EXECUTE FUNCTION end_push()
CREATE TRIGGER sessions_factors_changed AFTER UPDATE OF verified_at, factors ON public.sessions FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER sessions_rights_changed AFTER UPDATE OF workspace_id, user_id, expires_at, revoked_at ON public.sessions FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER sessions_rights_deleted AFTER DELETE ON public.sessions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION sessions_rights_change()
CREATE TRIGGER sessions_rights_truncated AFTER TRUNCATE ON public.sessions FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
share_claims.id uuid not null
share_claims.share_id uuid not null
share_claims.bytes bigint not null
share_claims.lapses_at timestamp with time zone not null
share_claims: share_claims_bytes_check CHECK ((bytes >= 0))
share_claims: share_claims_pkey PRIMARY KEY (id)
share_claims: share_claims_share_id_fkey FOREIGN KEY (share_id) REFERENCES shares(id) ON DELETE CASCADE
CREATE INDEX share_claims_lapses_at ON public.share_claims USING btree (lapses_at)
CREATE INDEX share_claims_share_id ON public.share_claims USING btree (share_id)
CREATE UNIQUE INDEX share_claims_pkey ON public.share_claims USING btree (id)
share_emails.id uuid not null
share_emails.share_id uuid not null
share_emails.recipient text
share_emails.files integer not null default 0
share_emails.bytes bigint not null default 0
share_emails.attempts integer not null default 0
share_emails.next_attempt_at timestamp with time zone not null default now()
share_emails.claim_id uuid
share_emails: share_emails_pkey PRIMARY KEY (id)
share_emails: share_emails_share_id_fkey FOREIGN KEY (share_id) REFERENCES shares(id) ON DELETE CASCADE
CREATE INDEX share_emails_due ON public.share_emails USING btree (next_attempt_at)
CREATE INDEX share_emails_share_id ON public.share_emails USING btree (share_id)
CREATE UNIQUE INDEX share_emails_collecting ON public.share_emails USING btree (share_id) WHERE ((recipient IS NULL) AND (claim_id IS NULL))
CREATE UNIQUE INDEX share_emails_pkey ON public.share_emails USING btree (id)
share_recipients.id uuid not null default gen_random_uuid()
share_recipients.share_id uuid not null
share_recipients.workspace_id uuid not null
share_recipients.user_id uuid
share_recipients.group_id uuid
share_recipients: share_recipients_check CHECK (((user_id IS NULL) <> (group_id IS NULL)))
share_recipients: share_recipients_pkey PRIMARY KEY (id)
share_recipients: share_recipients_share_id_fkey FOREIGN KEY (share_id) REFERENCES shares(id) ON DELETE CASCADE
share_recipients: share_recipients_share_id_group_id_key UNIQUE (share_id, group_id)
share_recipients: share_recipients_share_id_user_id_key UNIQUE (share_id, user_id)
share_recipients: share_recipients_workspace_id_group_id_fkey FOREIGN KEY (workspace_id, group_id) REFERENCES groups(workspace_id, id) ON DELETE CASCADE
share_recipients: share_recipients_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX share_recipients_group ON public.share_recipients USING btree (workspace_id, group_id, share_id)
CREATE INDEX share_recipients_member ON public.share_recipients USING btree (workspace_id, user_id, share_id)
CREATE UNIQUE INDEX share_recipients_pkey ON public.share_recipients USING btree (id)
CREATE UNIQUE INDEX share_recipients_share_id_group_id_key ON public.share_recipients USING btree (share_id, group_id)
CREATE UNIQUE INDEX share_recipients_share_id_user_id_key ON public.share_recipients USING btree (share_id, user_id)
CREATE TRIGGER share_recipients_rights_delete AFTER DELETE ON public.share_recipients FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER share_recipients_rights_insert AFTER INSERT ON public.share_recipients FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER share_recipients_rights_truncate AFTER TRUNCATE ON public.share_recipients FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER share_recipients_rights_update AFTER UPDATE ON public.share_recipients FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
shares.id uuid not null
shares.workspace_id uuid not null
shares.user_id uuid not null
shares.credential_kind text not null
shares.credential_id uuid not null
shares.kind text not null
shares.provider_id uuid not null
shares.paths text[] not null
shares.is_folder boolean not null
shares.token_hash bytea not null
shares.token bytea not null
shares.password_hash text
shares.note text not null
shares.expires_at timestamp with time zone
shares.max_downloads integer
shares.downloads bigint not null default 0
shares.max_bytes bigint
shares.received_bytes bigint not null default 0
shares.file_types text[] not null
shares.created_at timestamp with time zone not null default now()
shares.revoked_at timestamp with time zone
shares.last_used_at timestamp with time zone
shares.notify boolean not null default false
shares.is_for_members boolean not null default false
shares: shares_check CHECK (((kind = 'VIEW'::text) OR (is_folder AND (cardinality(paths) = 1))))
shares: shares_credential_kind_check CHECK ((credential_kind = ANY (ARRAY['SESSION'::text, 'API_KEY'::text])))
shares: shares_kind_check CHECK ((kind = ANY (ARRAY['VIEW'::text, 'DROP'::text])))
shares: shares_max_bytes_check CHECK ((max_bytes > 0))
shares: shares_max_downloads_check CHECK ((max_downloads > 0))
shares: shares_paths_check CHECK ((cardinality(paths) > 0))
shares: shares_pkey PRIMARY KEY (id)
shares: shares_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
shares: shares_received_bytes_check CHECK ((received_bytes >= 0))
shares: shares_token_hash_check CHECK ((octet_length(token_hash) = 32))
shares: shares_token_hash_key UNIQUE (token_hash)
shares: shares_workspace_id_user_id_fkey FOREIGN KEY (workspace_id, user_id) REFERENCES members(workspace_id, user_id) ON DELETE CASCADE
CREATE INDEX shares_member_page ON public.shares USING btree (workspace_id, user_id, id)
CREATE INDEX shares_page ON public.shares USING btree (workspace_id, id)
CREATE INDEX shares_provider_id ON public.shares USING btree (provider_id)
CREATE UNIQUE INDEX shares_pkey ON public.shares USING btree (id)
CREATE UNIQUE INDEX shares_token_hash_key ON public.shares USING btree (token_hash)
CREATE TRIGGER shares_rights_audience AFTER UPDATE OF is_for_members ON public.shares FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER shares_rights_changed AFTER UPDATE OF workspace_id, user_id, credential_kind, credential_id, kind, provider_id, paths, is_folder, token_hash, token, password_hash, note, expires_at, max_downloads, max_bytes, file_types, notify, revoked_at ON public.shares FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER shares_rights_deleted AFTER DELETE ON public.shares FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER shares_rights_truncated AFTER TRUNCATE ON public.shares FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
totp_secrets.user_id uuid not null
totp_secrets.secret bytea not null
totp_secrets.last_step bigint not null
totp_secrets.created_at timestamp with time zone not null default now()
totp_secrets.last_used_at timestamp with time zone
totp_secrets: totp_secrets_pkey PRIMARY KEY (user_id)
totp_secrets: totp_secrets_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
CREATE UNIQUE INDEX totp_secrets_pkey ON public.totp_secrets USING btree (user_id)
trash_items.id uuid not null
trash_items.provider_id uuid not null
trash_items.path text not null
trash_items.kind text not null
trash_items.size bigint
trash_items.native_id text
trash_items.state text not null
trash_items.user_id uuid not null
trash_items.job_id uuid
trash_items.restored_to text
trash_items.deleted_at timestamp with time zone not null default now()
trash_items.expires_at timestamp with time zone not null
trash_items.due_at timestamp with time zone not null
trash_items: trash_items_kind_check CHECK ((kind = ANY (ARRAY['file'::text, 'directory'::text])))
trash_items: trash_items_pkey PRIMARY KEY (id)
trash_items: trash_items_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
trash_items: trash_items_state_check CHECK ((state = ANY (ARRAY['TRASHING'::text, 'TRASHED'::text, 'RESTORING'::text, 'REMOVING'::text])))
CREATE INDEX trash_items_due ON public.trash_items USING btree (due_at)
CREATE INDEX trash_items_job ON public.trash_items USING btree (job_id) WHERE (job_id IS NOT NULL)
CREATE INDEX trash_items_listed ON public.trash_items USING btree (provider_id, id)
CREATE INDEX trash_items_path ON public.trash_items USING btree (provider_id, "left"((path || '/'::text), 400) COLLATE "C")
CREATE UNIQUE INDEX trash_items_pkey ON public.trash_items USING btree (id)
upload_chunks.upload_id text not null
upload_chunks.position bigint not null
upload_chunks.bytes bytea not null
upload_chunks: upload_chunks_pkey PRIMARY KEY (upload_id, "position")
upload_chunks: upload_chunks_upload_id_fkey FOREIGN KEY (upload_id) REFERENCES uploads(id) ON DELETE CASCADE
upload_chunks: upload_chunks_upload_id_length CHECK ((octet_length(upload_id) <= 64)) NOT VALID
CREATE UNIQUE INDEX upload_chunks_pkey ON public.upload_chunks USING btree (upload_id, "position")
upload_part_chunks.upload_id text not null
upload_part_chunks.content uuid not null
upload_part_chunks.position bigint not null
upload_part_chunks.bytes bytea not null
upload_part_chunks: upload_part_chunks_pkey PRIMARY KEY (upload_id, content, "position")
upload_part_chunks: upload_part_chunks_upload_id_check CHECK ((octet_length(upload_id) <= 64))
upload_part_chunks: upload_part_chunks_upload_id_fkey FOREIGN KEY (upload_id) REFERENCES uploads(id) ON DELETE CASCADE
CREATE UNIQUE INDEX upload_part_chunks_pkey ON public.upload_part_chunks USING btree (upload_id, content, "position")
upload_parts.upload_id text not null
upload_parts.number integer not null
upload_parts.size bigint not null
upload_parts.md5 bytea not null
upload_parts.content uuid
upload_parts.stored_at timestamp with time zone not null default now()
upload_parts.tag text
upload_parts: upload_parts_number_check CHECK (((number >= 1) AND (number <= 10000)))
upload_parts: upload_parts_pkey PRIMARY KEY (upload_id, number)
upload_parts: upload_parts_size_check CHECK ((size >= 0))
upload_parts: upload_parts_upload_id_check CHECK ((octet_length(upload_id) <= 64))
upload_parts: upload_parts_upload_id_fkey FOREIGN KEY (upload_id) REFERENCES uploads(id) ON DELETE CASCADE
CREATE UNIQUE INDEX upload_parts_pkey ON public.upload_parts USING btree (upload_id, number)
uploads.id text not null
uploads.workspace_id uuid not null
uploads.user_id uuid not null
uploads.credential_kind text not null
uploads.credential_id uuid not null
uploads.provider_id uuid not null
uploads.path text not null
uploads.conflict text not null
uploads.reserves boolean not null
uploads.mime_type text
uploads.metadata text not null
uploads.size bigint
uploads.received bigint not null default 0
uploads.appended bigint not null default 0
uploads.block bigint not null
uploads.state bytea
uploads.finishing boolean not null default false
uploads.stored_path text
uploads.created_at timestamp with time zone not null default now()
uploads.touched_at timestamp with time zone not null default now()
uploads.expires_at timestamp with time zone not null
uploads.lease_id uuid
uploads.lease_until timestamp with time zone
uploads.lease_wanted boolean not null default false
uploads.is_multipart boolean not null default false
uploads.appended_parts integer not null default 0
uploads.modified_at timestamp with time zone
uploads.has_native_parts boolean not null default false
uploads.waiting bigint not null default 0
uploads.is_scanned boolean not null default false
uploads.unscanned text
uploads: uploads_block_check CHECK ((block > 0))
uploads: uploads_check CHECK (((appended <= received) AND (received <= COALESCE(size, received))))
uploads: uploads_conflict_check CHECK ((conflict = ANY (ARRAY['FAIL'::text, 'REPLACE'::text, 'RENAME'::text])))
uploads: uploads_credential_kind_check CHECK ((credential_kind = ANY (ARRAY['SESSION'::text, 'API_KEY'::text, 'SHARE'::text])))
uploads: uploads_id_length CHECK ((octet_length(id) <= 64)) NOT VALID
uploads: uploads_pkey PRIMARY KEY (id)
uploads: uploads_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
uploads: uploads_size_check CHECK ((size >= 0))
uploads: uploads_unscanned_check CHECK ((unscanned = ANY (ARRAY['UNREACHABLE'::text, 'TOO_LONG'::text])))
uploads: uploads_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX uploads_expires_at ON public.uploads USING btree (expires_at)
CREATE INDEX uploads_owner ON public.uploads USING btree (workspace_id, user_id)
CREATE INDEX uploads_provider_id ON public.uploads USING btree (provider_id)
CREATE UNIQUE INDEX uploads_pkey ON public.uploads USING btree (id)
CREATE UNIQUE INDEX uploads_reserved ON public.uploads USING btree (provider_id, md5(path)) WHERE reserves
usage_days.provider_id uuid not null
usage_days.day date not null
usage_days.files bigint not null
usage_days.bytes bigint not null
usage_days: usage_days_pkey PRIMARY KEY (provider_id, day)
usage_days: usage_days_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES providers(id) ON DELETE CASCADE
CREATE UNIQUE INDEX usage_days_pkey ON public.usage_days USING btree (provider_id, day)
used_sign_ins.state_hash bytea not null
used_sign_ins.expires_at timestamp with time zone not null
used_sign_ins: used_sign_ins_pkey PRIMARY KEY (state_hash)
used_sign_ins: used_sign_ins_state_hash_check CHECK ((octet_length(state_hash) = 32))
CREATE INDEX used_sign_ins_expires_at ON public.used_sign_ins USING btree (expires_at)
CREATE UNIQUE INDEX used_sign_ins_pkey ON public.used_sign_ins USING btree (state_hash)
users.id uuid not null default gen_random_uuid()
users.email text not null
users.email_key text not null
users.name text
users.password_hash text
users.created_at timestamp with time zone not null default now()
users.is_service boolean not null default false
users.language text
users.gets_mentions boolean not null default true
users: users_email_key_key UNIQUE (email_key)
users: users_email_key_length CHECK ((octet_length(email_key) <= 1024)) NOT VALID
users: users_language_check CHECK ((octet_length(language) <= 16))
users: users_pkey PRIMARY KEY (id)
CREATE UNIQUE INDEX users_email_key_key ON public.users USING btree (email_key)
CREATE UNIQUE INDEX users_pkey ON public.users USING btree (id)
CREATE TRIGGER users_rights_changed AFTER UPDATE OF email, name ON public.users FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER users_rights_deleted AFTER DELETE ON public.users FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER users_rights_language AFTER UPDATE OF language ON public.users FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER users_rights_mentions AFTER UPDATE OF gets_mentions ON public.users FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
CREATE TRIGGER users_rights_truncated AFTER TRUNCATE ON public.users FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
webhook_deliveries.webhook_id uuid not null
webhook_deliveries.id uuid not null
webhook_deliveries.action text not null
webhook_deliveries.event jsonb not null
webhook_deliveries.state text not null default 'PENDING'::text
webhook_deliveries.attempts integer not null default 0
webhook_deliveries.next_attempt_at timestamp with time zone not null default now()
webhook_deliveries.claim_id uuid
webhook_deliveries.status integer
webhook_deliveries.error text
webhook_deliveries.ended_at timestamp with time zone
webhook_deliveries: webhook_deliveries_pkey PRIMARY KEY (webhook_id, id)
webhook_deliveries: webhook_deliveries_state_check CHECK ((state = ANY (ARRAY['PENDING'::text, 'DELIVERED'::text, 'FAILED'::text])))
webhook_deliveries: webhook_deliveries_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (next_attempt_at) WHERE (ended_at IS NULL)
CREATE INDEX webhook_deliveries_ended ON public.webhook_deliveries USING btree (ended_at) WHERE (ended_at IS NOT NULL)
CREATE INDEX webhook_deliveries_state ON public.webhook_deliveries USING btree (webhook_id, ended_at, id)
CREATE UNIQUE INDEX webhook_deliveries_pkey ON public.webhook_deliveries USING btree (webhook_id, id)
webhooks.id uuid not null
webhooks.workspace_id uuid not null
webhooks.user_id uuid not null
webhooks.credential_kind text not null
webhooks.credential_id uuid not null
webhooks.name text not null
webhooks.url text not null
webhooks.actions text[] not null
webhooks.provider_id uuid
webhooks.path text
webhooks.secrets bytea not null
webhooks.is_enabled boolean not null default true
webhooks.error text
webhooks.created_at timestamp with time zone not null default now()
webhooks: webhooks_check CHECK (((provider_id IS NULL) = (path IS NULL)))
webhooks: webhooks_credential_kind_check CHECK ((credential_kind = ANY (ARRAY['SESSION'::text, 'API_KEY'::text])))
webhooks: webhooks_pkey PRIMARY KEY (id)
webhooks: webhooks_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE INDEX webhooks_workspace ON public.webhooks USING btree (workspace_id, id)
CREATE UNIQUE INDEX webhooks_pkey ON public.webhooks USING btree (id)
workspace_logos.workspace_id uuid not null
workspace_logos.type text not null
workspace_logos.image bytea not null
workspace_logos: workspace_logos_image_check CHECK ((octet_length(image) <= 102400))
workspace_logos: workspace_logos_pkey PRIMARY KEY (workspace_id)
workspace_logos: workspace_logos_type_check CHECK ((type = ANY (ARRAY['image/png'::text, 'image/jpeg'::text, 'image/webp'::text])))
workspace_logos: workspace_logos_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
CREATE UNIQUE INDEX workspace_logos_pkey ON public.workspace_logos USING btree (workspace_id)
workspaces.id uuid not null default gen_random_uuid()
workspaces.name text not null
workspaces.registration text not null default 'INVITE'::text
workspaces.created_at timestamp with time zone not null default now()
workspaces.second_factor_roles text[] not null default '{}'::text[]
workspaces.password_owners uuid[]
workspaces.approvals text[] not null default '{}'::text[]
workspaces.scanned_uploads text[] not null default '{DROP_LINKS}'::text[]
workspaces.brand_color text
workspaces.brand_text text not null default ''::text
workspaces.logo_version text
workspaces.language text
workspaces: workspaces_approvals_check CHECK ((approvals <@ '{DELETION,OVERWRITE}'::text[]))
workspaces: workspaces_brand_color_check CHECK ((octet_length(brand_color) = 7))
workspaces: workspaces_language_check CHECK ((octet_length(language) <= 16))
workspaces: workspaces_logo_version_check CHECK ((octet_length(logo_version) <= 64))
workspaces: workspaces_pkey PRIMARY KEY (id)
workspaces: workspaces_registration_check CHECK ((registration = ANY (ARRAY['OPEN'::text, 'INVITE'::text, 'CLOSED'::text])))
workspaces: workspaces_scanned_uploads_check CHECK ((scanned_uploads <@ '{DROP_LINKS,API_KEYS,SESSIONS}'::text[]))
CREATE UNIQUE INDEX workspaces_pkey ON public.workspaces USING btree (id)
CREATE TRIGGER workspaces_rights_changed AFTER UPDATE OF second_factor_roles ON public.workspaces FOR EACH STATEMENT EXECUTE FUNCTION rights_change()
