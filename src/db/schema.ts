/** The tables as Kysely sees them; `test/schema.sql` is what PostgreSQL sees. */
import type { ColumnType, Generated, JSONColumnType, RawBuilder } from 'kysely'
import type { StoredAccess } from '../auth/access.ts'
import type { Audience } from '../auth/access-tokens.ts'
import type { Factor } from '../auth/factors.ts'
import type { Role, Scope } from '../auth/scopes.ts'
import type { CredentialKind, ShareKind } from '../auth/viewer.ts'
import type { Reason } from '../errors.ts'

export const registrations = ['OPEN', 'INVITE', 'CLOSED'] as const
export type Registration = (typeof registrations)[number]

export type LogoType = 'image/png' | 'image/jpeg' | 'image/webp'

export const providerStatuses = ['CONNECTED', 'NEEDS_AUTHORIZATION', 'NEEDS_RECONNECT', 'UNAVAILABLE'] as const
export type ProviderStatus = (typeof providerStatuses)[number]

/** Changes of the ways to sign in to an account, of which its owner learns by email. */
export type NoticeKind =
  | 'TOTP_ADDED'
  | 'TOTP_REMOVED'
  | 'PASSKEY_ADDED'
  | 'PASSKEY_REMOVED'
  | 'FACTORS_RESET'
  | 'PASSWORD_CHANGED'
  | 'PASSWORD_RESET'
  | 'PASSWORD_RESET_BY_EMAIL'
  | 'IDENTITY_LINKED'
  | 'IDENTITY_UNLINKED'

/** The actions in the audit log. READ is written only for refused reads. */
export const auditActions = [
  'REGISTER',
  'LOGIN',
  'LOGOUT',
  'PASSWORD_CHANGE',
  'PASSWORD_RESET_REQUEST',
  'PASSWORD_RESET_CREATE',
  'PASSWORD_RESET',
  'PROFILE_UPDATE',
  'LINK_INVITE_CREATE',
  'IDENTITY_LINK',
  'IDENTITY_UNLINK',
  'IDENTITY_CONFIRM',
  'FACTOR_ADD',
  'FACTOR_UPDATE',
  'FACTOR_REMOVE',
  'RECOVERY_CODES_CREATE',
  'ISSUER_CREATE',
  'ISSUER_UPDATE',
  'ISSUER_DELETE',
  'ISSUER_TEST',
  'INVITE_CREATE',
  'INVITE_REVOKE',
  'MEMBER_VIEW',
  'MEMBER_UPDATE',
  'MEMBER_REMOVE',
  'MEMBER_DEACTIVATE',
  'MEMBER_REACTIVATE',
  'MEMBER_CREATE',
  'SCIM_TOKEN_CREATE',
  'SCIM_TOKEN_REVOKE',
  'GROUP_CREATE',
  'GROUP_UPDATE',
  'GROUP_DELETE',
  'GROUP_MEMBER_ADD',
  'GROUP_MEMBER_REMOVE',
  'SERVICE_ACCOUNT_CREATE',
  'SERVICE_ACCOUNT_RENAME',
  'API_KEY_CREATE',
  'API_KEY_RENAME',
  'API_KEY_REVOKE',
  'CONNECTION_CREATE',
  'CONNECTION_OPEN',
  'CONNECTION_END',
  'APPROVAL_REQUEST',
  'APPROVAL_DECIDE',
  'PROVIDER_CONNECT',
  'PROVIDER_UPDATE',
  'PROVIDER_DISCONNECT',
  'PROVIDER_AUTHORIZE',
  'PROVIDER_CONSENT',
  'PROVIDER_TEST',
  'WORKSPACE_UPDATE',
  'FOLDER_CREATE',
  'UPLOAD',
  'UPLOAD_TAKE_OVER',
  'RENAME',
  'MOVE',
  'COPY',
  'PART_COPY',
  'DELETE',
  'DOWNLOAD',
  'DIRECT_DOWNLOAD',
  'DIRECT_UPLOAD',
  'PROPERTIES_UPDATE',
  'STAR_ADD',
  'STAR_REMOVE',
  'TAGS_UPDATE',
  'COMMENT_CREATE',
  'COMMENT_UPDATE',
  'COMMENT_DELETE',
  'PUSH_SUBSCRIBE',
  'PUSH_UPDATE',
  'PUSH_UNSUBSCRIBE',
  'PUSH_TEST',
  'LOCK_END',
  'QUOTA_SET',
  'HOLD_CREATE',
  'HOLD_RELEASE',
  'READ',
  'RESTORE',
  'VERSION_DELETE',
  'TRASH_EMPTY',
  'JOB_CREATE',
  'JOB_PAUSE',
  'JOB_RESUME',
  'JOB_CANCEL',
  'JOB_RETRY',
  'JOB_END',
  'DAMAGE_FOUND',
  'SCHEDULE_CREATE',
  'SCHEDULE_UPDATE',
  'SCHEDULE_DELETE',
  'WEBHOOK_CREATE',
  'WEBHOOK_UPDATE',
  'WEBHOOK_DELETE',
  'WEBHOOK_ROTATE',
  'WEBHOOK_TEST',
  'WEBHOOK_REPLAY',
  'SHARE_CREATE',
  'SHARE_UPDATE',
  'SHARE_REVOKE',
  'SHARE_UNLOCK',
] as const
export type AuditAction = (typeof auditActions)[number]
/** CUT: the connection ended before the transfer was complete. */
export type AuditResult = 'OK' | 'CUT' | Reason

export interface Schema {
  workspaces: WorkspaceTable
  workspace_logos: WorkspaceLogoTable
  users: UserTable
  members: MemberTable
  groups: GroupTable
  group_members: GroupMemberTable
  issuers: IssuerTable
  issuer_tests: IssuerTestTable
  identities: IdentityTable
  used_sign_ins: UsedSignInTable
  directory_syncs: DirectorySyncTable
  account_notices: AccountNoticeTable
  scim_directories: ScimDirectoryTable
  scim_group_ids: ScimGroupIdTable
  scim_tokens: ScimTokenTable
  scim_users: ScimUserTable
  sessions: SessionTable
  host_keys: HostKeyTable
  push_keys: PushKeyTable
  push_subscriptions: PushSubscriptionTable
  push_messages: PushMessageTable
  totp_secrets: TotpSecretTable
  recovery_codes: RecoveryCodeTable
  passkeys: PasskeyTable
  login_challenges: LoginChallengeTable
  api_keys: ApiKeyTable
  applications: ApplicationTable
  connections: ConnectionTable
  approvals: ApprovalTable
  invites: InviteTable
  password_resets: PasswordResetTable
  mailed_resets: MailedResetTable
  reset_requests: ResetRequestTable
  link_invites: LinkInviteTable
  providers: ProviderTable
  oauth_states: OAuthStateTable
  provider_tokens: ProviderTokenTable
  idempotent_uploads: IdempotentUploadTable
  rate_limits: RateLimitTable
  locks: LockTable
  audit_events: AuditEventTable
  uploads: UploadTable
  upload_chunks: UploadChunkTable
  upload_parts: UploadPartTable
  upload_part_chunks: UploadPartChunkTable
  jobs: JobTable
  job_entries: JobEntryTable
  schedules: ScheduleTable
  webhooks: WebhookTable
  webhook_deliveries: WebhookDeliveryTable
  rights_counter: RightsCounterTable
  rights_readers: RightsReaderTable
  entry_locks: EntryLockTable
  entry_holds: EntryHoldTable
  entry_properties: EntryPropertyTable
  entry_stars: EntryStarTable
  entry_tags: EntryTagTable
  entry_comments: EntryCommentTable
  comment_notices: CommentNoticeTable
  trash_items: TrashItemTable
  file_versions: FileVersionTable
  object_lock_settings: ObjectLockSettingsTable
  shares: ShareTable
  share_recipients: ShareRecipientTable
  share_claims: ShareClaimTable
  share_emails: ShareEmailTable
  catalogues: CatalogueTable
  catalogue_entries: CatalogueEntryTable
  catalogue_contents: CatalogueContentTable
  catalogue_folders: CatalogueFolderTable
  catalogue_changes: CatalogueChangeTable
  catalogue_servers: CatalogueServerTable
  catalogue_expected: CatalogueExpectedTable
  outside_changes: OutsideChangeTable
  content_checksums: ContentChecksumTable
  kept_folders: KeptFolderTable
  kept_files: KeptFileTable
  quota_rules: QuotaRuleTable
  quota_files: QuotaFileTable
  quota_changes: QuotaChangeTable
  quota_marks: QuotaMarkTable
  quota_counts: QuotaCountTable
  usage_days: UsageDayTable
  server_processes: ServerProcessTable
  lost_emails: LostEmailTable
}

/** Set by the database by default, and never updated. */
type CreatedAt = ColumnType<Date, Date | undefined, never>
type Json<T extends object> = JSONColumnType<T>

/** One row. */
interface RightsCounterTable {
  /** A bigint. */
  counter: string
  epoch: string
  began_at: Date
}

interface RightsReaderTable {
  id: string
  /** A bigint. */
  seen: string
  epoch: string
  renewed_at: Date
}

interface WorkspaceTable {
  id: Generated<string>
  name: string
  registration: Generated<Registration>
  /** Members with one of these roles need a second factor. */
  second_factor_roles: Generated<Role[]>
  /** The actions of agents that a person has to approve. */
  approvals: Generated<ApprovalKind[]>
  /** Whose uploads are scanned for malware, if the server has a scanner. */
  scanned_uploads: Generated<UploadSource[]>
  /** The owners who may use passwords; null if everybody may. */
  password_owners: ColumnType<string[] | null, string[] | null | undefined, string[] | null>
  /** "#" and six hexadecimal digits. */
  brand_color: Generated<string | null>
  brand_text: Generated<string>
  /** Changes with the logo; null without one. */
  logo_version: Generated<string | null>
  /** The tag of the language for people who have chosen none. */
  language: Generated<string | null>
  created_at: CreatedAt
}

interface WorkspaceLogoTable {
  workspace_id: string
  type: LogoType
  image: Buffer
}

interface UserTable {
  id: Generated<string>
  /** The email as the person typed it. */
  email: string
  /** Unique: see `emailKey`. */
  email_key: string
  name: string | null
  /** The tag of the language that the person has chosen; null for that of the browser. */
  language: Generated<string | null>
  /** Whether the person gets an email when a comment mentions them. */
  gets_mentions: Generated<boolean>
  /** argon2id in PHC string format. Null for an account without a password. */
  password_hash: string | null
  /** A program, which never signs in. */
  is_service: Generated<boolean>
  created_at: CreatedAt
}

interface MemberTable {
  workspace_id: string
  user_id: string
  role: Role
  provider_access: Json<StoredAccess>
  /** The person was invited, or an administrator has set their role. */
  is_confirmed: Generated<boolean>
  created_at: CreatedAt
  /** The credentials of the member are refused. */
  deactivated_at: Generated<Date | null>
  /** The source of the directory that did it; null for an administrator. */
  deactivated_by: Generated<string | null>
}

interface GroupTable {
  id: Generated<string>
  workspace_id: string
  name: string
  /** Unique in the workspace: see `groupKey`. */
  name_key: string
  role: Exclude<Role, 'OWNER'>
  provider_access: Json<StoredAccess>
  created_at: CreatedAt
  /** The directory that has created the group over SCIM; null for an administrator. */
  scim_directory_id: Generated<string | null>
  updated_at: Generated<Date>
}

interface GroupMemberTable {
  group_id: string
  workspace_id: string
  user_id: string
  /** The issuer or directory that has named the group, and ends the membership; null for an administrator. */
  issued_by: Generated<string | null>
}

interface SessionTable {
  id: Generated<string>
  workspace_id: string
  user_id: string
  created_at: CreatedAt
  expires_at: Date
  revoked_at: Date | null
  /** The address and the browser of the sign-in; null for sessions that are older than these columns. */
  address: string | null
  user_agent: string | null
  /** The identity that it began with, and the session at its issuer; null for a sign-in with a password. */
  identity_id: string | null
  issuer_session: string | null
  /** The encrypted ID token. */
  id_token: ColumnType<Buffer | null, Buffer | null | undefined, Buffer | null>
  /** When the member last proved who they are in this session; null for sessions that are older than this column. */
  verified_at: Generated<Date | null>
  factors: Generated<Factor[]>
}

interface HostKeyTable {
  /** The name of the algorithm in SSH. */
  type: string
  public_key: Buffer
  /** Encrypted. */
  private_key: Buffer
  created_at: CreatedAt
}

/** One row. */
interface PushKeyTable {
  id: Generated<number>
  /** A point of P-256, uncompressed. */
  public_key: Buffer
  /** Encrypted. */
  private_key: Buffer
  created_at: CreatedAt
}

export const pushEvents = ['JOB_ENDED', 'FILES_RECEIVED', 'SHARE_USED', 'MENTIONED'] as const
/** The events of which people can get push notifications. */
export type PushEvent = (typeof pushEvents)[number]

/** A browser that gets push notifications. */
interface PushSubscriptionTable {
  id: string
  workspace_id: string
  user_id: string
  /** The notifications end with this session. */
  session_id: string
  /** The address of the browser at its push service. */
  endpoint: string
  /** With `auth`, what a message is encrypted for: a point of P-256, uncompressed. */
  public_key: Buffer
  auth: Buffer
  events: PushEvent[]
  /** The tag of the language of the console in this browser; null if it is unknown. */
  language: string | null
  created_at: CreatedAt
  /** When the push service last took a message. */
  last_used_at: ColumnType<Date | null, never, Date>
}

interface PushMessageTable {
  id: Generated<string>
  subscription_id: string
  event: PushEvent | 'TEST'
  /** The id of the job, the share or the comment; empty for a test. */
  subject_id: string
  /** Events that are not sent yet. After a message, it is 0 for a while in which other events wait. */
  count: Generated<number>
  /** When the first of these events came. */
  since: Generated<Date>
  attempts: Generated<number>
  next_attempt_at: Generated<Date>
  claim_id: Generated<string | null>
}

interface TotpSecretTable {
  user_id: string
  /** Encrypted, in base32. */
  secret: Buffer
  /** The time step of the last accepted code: no code of this step or an earlier one is accepted again. A bigint. */
  last_step: ColumnType<string, number, number>
  created_at: CreatedAt
  last_used_at: ColumnType<Date | null, never, Date>
}

interface RecoveryCodeTable {
  /** SHA-256. */
  code_hash: Buffer
  user_id: string
}

interface PasskeyTable {
  id: Generated<string>
  user_id: string
  credential_id: Buffer
  /** COSE. */
  public_key: Buffer
  /** The signatures that the authenticator has made; 0 if it does not count them. A bigint. */
  counter: ColumnType<string, number, number>
  transports: string[]
  /** The provider of the passkey copies it to other devices. */
  is_synced: boolean
  name: string
  created_at: CreatedAt
  last_used_at: ColumnType<Date | null, never, Date>
}

/** A sign-in whose password was right and which waits for a second factor. */
interface LoginChallengeTable {
  /** SHA-256 of the token. */
  token_hash: Buffer
  workspace_id: string
  user_id: string
  /** SHA-256 of the hash of the password, so that a change of the password ends the sign-in; null if a directory has the password. */
  password_digest: Buffer | null
  /** The identity in the directory that has verified the password; null for a password of the account. */
  identity_id: string | null
  tries: ColumnType<number, never, number>
  expires_at: Date
}

export const issuerPrompts = ['DEFAULT', 'LOGIN', 'SELECT_ACCOUNT', 'CONSENT'] as const
/** The prompt of an issuer for people who are signed in there: OpenID Connect Core, section 3.1.2.1. */
export type IssuerPrompt = (typeof issuerPrompts)[number]

interface IssuerTable {
  id: string
  workspace_id: string
  name: string
  issuer: string
  client_id: string
  /** The encrypted secret of the client. */
  secret: Buffer
  groups_claim: string | null
  domains: string[]
  group_ids: string[]
  prompt: Generated<IssuerPrompt>
  max_age_minutes: Generated<number>
  is_enabled: boolean
  version: Generated<number>
  created_at: CreatedAt
}

interface IssuerTestTable {
  /** The id of the session or the API key. */
  credential_id: string
  workspace_id: string
  /** The encrypted settings. */
  sealed: Buffer
  expires_at: Date
}

interface IdentityTable {
  id: Generated<string>
  workspace_id: string
  user_id: string
  issuer: string
  subject: string
  email: string | null
  created_at: CreatedAt
  last_used_at: ColumnType<Date | null, never, Date>
}

/** Emails to people about their account that wait. */
interface AccountNoticeTable {
  id: Generated<string>
  user_id: string
  kind: NoticeKind
  name: string | null
  address: string
  created_at: CreatedAt
  attempts: Generated<number>
  next_attempt_at: Generated<Date>
  claim_id: Generated<string | null>
}

/** A directory that uses SCIM. */
interface ScimDirectoryTable {
  id: Generated<string>
  workspace_id: string
  name: string
  issuer: string | null
  created_at: CreatedAt
}

/** The id by which a directory knows a group. */
interface ScimGroupIdTable {
  directory_id: string
  group_id: string
  external_id: string
}

interface ScimTokenTable {
  id: Generated<string>
  workspace_id: string
  directory_id: string
  name: string
  /** SHA-256 of the token. */
  token_hash: Buffer
  display_prefix: string
  created_by: string | null
  created_at: CreatedAt
  last_used_at: Generated<Date | null>
  revoked_at: Generated<Date | null>
}

interface ScimUserTable {
  workspace_id: string
  user_id: string
  directory_id: string
  user_name: string
  /** Unique without differences of case and Unicode normal form. */
  user_name_key: string
  external_id: string | null
  given_name: string | null
  family_name: string | null
  created_at: CreatedAt
  updated_at: Generated<Date>
}

/** One row for each directory that a server reads at an interval. */
interface DirectorySyncTable {
  /** The source. */
  id: string
  due_at: Date
  claim_id: string | null
  claimed_until: Date | null
  ended_at: Date | null
  /** People of the directory at the last success. */
  people: number | null
  /** Why the last one failed or changed nobody; null after a success. */
  error: string | null
}

interface UsedSignInTable {
  /** SHA-256 of the state. */
  state_hash: Buffer
  expires_at: Date
}

interface ApiKeyTable {
  /** A public key of SSH, as SSH sends it. */
  public_key: Buffer | null
  id: Generated<string>
  workspace_id: string
  user_id: string
  name: string
  /** SHA-256 of the key value. */
  key_hash: Buffer
  display_prefix: string
  scopes: Scope[]
  provider_access: Json<StoredAccess>
  created_at: CreatedAt
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
  /** An application has connected: `connections` has its row. Nobody knows the value of the key. */
  is_connection: Generated<boolean>
}

/** An application that has registered itself. */
interface ApplicationTable {
  id: Generated<string>
  name: string
  redirect_uris: string[]
  created_at: CreatedAt
  /** When a person last connected it; null for never. */
  used_at: ColumnType<Date | null, never, Date>
  expires_at: Date
}

/** Whose uploads a workspace can have scanned: those through share links, with API keys, and of people who are signed in. */
export const uploadSources = ['DROP_LINKS', 'API_KEYS', 'SESSIONS'] as const
export type UploadSource = (typeof uploadSources)[number]

export const approvalKinds = ['DELETION', 'OVERWRITE'] as const
export type ApprovalKind = (typeof approvalKinds)[number]
/** DONE: the call that it permitted has begun. */
export type ApprovalState = 'PENDING' | 'APPROVED' | 'REFUSED' | 'DONE'

/** The facts about a call that a person sees. */
export interface ApprovalDetails {
  entryKind: 'FILE' | 'FOLDER'
  /** Bytes of the entry that is there. */
  size: number | null
  modifiedAt: string | null
  /** The path of what replaces the entry; null for content or a deletion. */
  from: string | null
  /** Characters of the content that replaces the entry. */
  newLength: number | null
  isPermanent: boolean
  isRecursive: boolean
}

/** A call of an agent that waits for a person. */
interface ApprovalTable {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  workspace_id: string
  /** Whose credential the agent has. */
  user_id: string
  credential_kind: CredentialKind
  credential_id: string
  kind: ApprovalKind
  /** The name of the tool. */
  tool: string
  /** SHA-256 of the call and of the version of the entry. */
  call_hash: Buffer
  /** The location of what the call removes or replaces. */
  provider_id: string
  path: string
  details: Json<ApprovalDetails>
  state: Generated<ApprovalState>
  created_at: CreatedAt
  expires_at: Date
  decided_by: string | null
}

/** The credentials of the application of a connection. */
interface ConnectionTable {
  /** The API key with the rights of the connection. */
  key_id: string
  /** The id in `applications`, or the address of a metadata document. */
  client_id: string
  client_name: string
  /** The address that got the code. */
  redirect_uri: string
  audience: Audience
  /** SHA-256 of the code, which works once. */
  code_hash: Buffer
  code_challenge: string
  code_expires_at: Date
  /** SHA-256 of the present refresh token; null until the code is used. */
  refresh_hash: ColumnType<Buffer | null, never, Buffer>
}

interface InviteTable {
  id: Generated<string>
  workspace_id: string
  /** SHA-256 of the invite. */
  token_hash: Buffer
  role: Role
  provider_access: Json<StoredAccess>
  created_by: string | null
  /** Set if a key created the invite. */
  api_key_id: string | null
  created_at: CreatedAt
  expires_at: Date
  used_at: Date | null
  note: string | null
}

interface PasswordResetTable {
  user_id: string
  workspace_id: string
  /** SHA-256 of the token. */
  token_hash: Buffer
  created_by: string
  expires_at: Date
}

interface MailedResetTable {
  /** SHA-256 of the token. */
  token_hash: Buffer
  workspace_id: string
  user_id: string
  /** The address that the person had, so that a change of it ends the link. */
  email_key: string
  /** SHA-256 of the hash of the password, so that a change of it ends the link. */
  password_digest: Buffer
  expires_at: Date
}

interface ResetRequestTable {
  id: Generated<string>
  email: string
  address: string
  created_at: CreatedAt
  attempts: Generated<number>
  next_attempt_at: Generated<Date>
  claim_id: Generated<string | null>
}

interface LinkInviteTable {
  user_id: string
  workspace_id: string
  /** SHA-256 of the token. */
  token_hash: Buffer
  created_by: string
  expires_at: Date
}

interface ProviderTable {
  id: Generated<string>
  workspace_id: string
  /** The type of the adapter. */
  type: string
  name: string
  /** Unique in the workspace. */
  slug: string
  /** Without secrets. */
  config: Json<Record<string, unknown>>
  /** The secret properties of the configuration, as encrypted JSON; null if it has none. */
  secrets: Buffer | null
  status: ProviderStatus
  status_reason: string | null
  /** Increases with each change of the configuration. Servers do not reuse a provider opened with an older version. */
  version: Generated<number>
  job_files_at_once: Generated<number>
  /** Null is no limit. */
  job_bytes_per_second: ColumnType<string | null, number | null | undefined, number | null>
  /** Null leaves it to the server's setting. */
  trash_days: ColumnType<number | null, number | null | undefined, number | null>
  /** Null is the default of the storage. */
  version_count: ColumnType<number | null, number | null | undefined, number | null>
  /** Null is the default of the server. */
  version_days: ColumnType<number | null, number | null | undefined, number | null>
  /** How names and contents are encrypted; null if they are not. */
  encryption: ColumnType<EncryptionSettings | null, string | null | undefined, never>
  /** The password and the salt, as encrypted JSON. */
  encryption_secrets: ColumnType<Buffer | null, Buffer | null | undefined, Buffer>
  /** Where its root is at the back end; null if that is not known. */
  root_id: ColumnType<string | null, string | null | undefined, string | null>
  created_at: CreatedAt
}

export const nameEncryptions = ['STANDARD', 'OFF'] as const
export type NameEncryption = (typeof nameEncryptions)[number]
export const encodings = ['BASE32', 'BASE64', 'BASE32768'] as const
export type NameEncoding = (typeof encodings)[number]

/** The settings of an encrypted storage that are no secrets. They never change. */
export interface EncryptionSettings {
  names: NameEncryption
  encoding: NameEncoding
  encryptFolderNames: boolean
  /** The end of the name of a file if names are not encrypted. May be empty. */
  suffix: string
}

interface OAuthStateTable {
  /** SHA-256 of the state. */
  state_hash: Buffer
  provider_id: string
  workspace_id: string
  user_id: string
  sealed: Buffer
  expires_at: Date
}

interface ProviderTokenTable {
  provider_id: string
  sealed: Buffer
  expires_at: Date
  /** The time until which one server refreshes the tokens and the others wait. */
  refreshing_until: Date | null
}

interface RateLimitTable {
  /** SHA-256 of the rule and its subject. */
  key: Buffer
  hits: number
  /** The end of the window. */
  ends_at: Date
}

interface LockTable {
  /** SHA-256 of the name. */
  key: Buffer
  /** The server process that has it. */
  holder: string
  /** The expiry without renewal. */
  ends_at: Date
}

interface AuditEventTable {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  workspace_id: string
  at: Date
  action: AuditAction
  result: AuditResult
  user_id: string | null
  user_email: string | null
  user_name: string | null
  credential_kind: CredentialKind | 'SCIM_TOKEN' | null
  credential_id: string | null
  credential_prefix: string | null
  address: string
  request_id: string
  provider_id: string | null
  provider_name: string | null
  path: string | null
  to_provider_id: string | null
  to_provider_name: string | null
  to_path: string | null
  subject_kind: string | null
  subject_id: string | null
  /** A bigint, which pg returns as text. */
  bytes: string | null
  count: Generated<number>
  details: Json<Record<string, unknown>>
}

interface IdempotentUploadTable {
  /** The id of the session or the API key. */
  credential_id: string
  /** SHA-256. */
  key_hash: Buffer
  fingerprint: Buffer
  /** The id of the attempt that has the key. */
  attempt: string
  /** No other attempt can take over before this time. */
  held_until: Date
  /** Null until the upload is complete. */
  answer: ColumnType<object | null, string | null | undefined, string | null>
  created_at: ColumnType<Date, Date | undefined, Date>
}

/** A `bigint`, which the driver returns as text and accepts as a number. */
type Bytes = ColumnType<string, number | undefined, number>

interface UploadTable {
  id: string
  workspace_id: string
  /** No foreign key, as for credentials: the row must stay until the back end has freed the storage of the upload. */
  user_id: string
  credential_kind: CredentialKind
  credential_id: string
  provider_id: string
  /** The destination of the file; with RENAME, the free name that was found. */
  path: string
  conflict: 'FAIL' | 'REPLACE' | 'RENAME'
  /** No other upload may choose the same path. */
  reserves: boolean
  mime_type: string | null
  /** The metadata as the client sent it. */
  metadata: string
  /** Null until the client sends it. */
  size: ColumnType<string | null, number | null, number>
  /** Bytes stored and acknowledged: `appended` of them at the back end, the rest in `upload_chunks`. */
  received: Bytes
  appended: Bytes
  /** The bytes in `upload_part_chunks`. */
  waiting: Bytes
  /** Bytes per append. */
  block: ColumnType<string, number, number>
  /** The adapter's encrypted state; null before the first append. */
  state: Buffer | null
  /** Whether the upload consists of parts that come in any order. */
  is_multipart: Generated<boolean>
  /** The number of the last part whose bytes are counted in `received`. */
  appended_parts: Generated<number>
  /** Whether the back end keeps the parts of the upload. */
  has_native_parts: Generated<boolean>
  /** Whether the back end keeps the file in the reserved folder until it was scanned. */
  is_scanned: Generated<boolean>
  /** Why the file is stored although nothing has scanned it; null if it was scanned, or nobody wanted it. */
  unscanned: Generated<UnscannedReason | null>
  /** The modification time for the file. */
  modified_at: ColumnType<Date | null, Date | null | undefined, never>
  /** The completion has begun, and its result is unknown. */
  finishing: Generated<boolean>
  /** Null until the upload is complete. */
  stored_path: string | null
  created_at: CreatedAt
  touched_at: ColumnType<Date, Date | undefined, Date>
  expires_at: Date
  lease_id: string | null
  lease_until: Date | null
  /** Another request waits for the lease. */
  lease_wanted: Generated<boolean>
}

/** The scanner did not respond, or the file was too long for it. */
export type UnscannedReason = 'UNREACHABLE' | 'TOO_LONG'

interface UploadPartTable {
  upload_id: string
  /** 1 to 10,000. */
  number: number
  size: Bytes
  md5: Buffer
  /** Names the chunks of the part; null once its bytes are, or are being, appended to the upload. */
  content: string | null
  /** Names the bytes of the part at the back end; null if they are, or were, here. */
  tag: string | null
  stored_at: ColumnType<Date, Date | undefined, Date>
}

interface UploadPartChunkTable {
  upload_id: string
  content: string
  /** The offset in the part. */
  position: Bytes
  bytes: Buffer
}

interface UploadChunkTable {
  upload_id: string
  /** The offset of the first byte in the file. */
  position: ColumnType<string, number, number>
  bytes: Buffer
}

export const jobKinds = ['COPY', 'MOVE', 'DELETE', 'SYNC', 'CHECKSUM', 'VERIFY', 'RESTORE', 'KEEP_COPIES'] as const
export type JobKind = (typeof jobKinds)[number]

/** SUCCEEDED, FAILED and CANCELED are final. */
export const jobStates = ['QUEUED', 'RUNNING', 'PAUSED', 'SUCCEEDED', 'FAILED', 'CANCELED'] as const
export type JobState = (typeof jobStates)[number]

export const jobConflicts = ['FAIL', 'REPLACE', 'RENAME', 'SKIP', 'NEWER'] as const
export type JobConflict = (typeof jobConflicts)[number]

/** A provider and a path in it, without a leading `/`. */
export interface StoredLocation {
  providerId: string
  path: string
}

/** The folder that the sources of a job go into. */
export interface JobTarget extends StoredLocation {
  /** The name of the only source there. Undefined if the sources keep their names. */
  name?: string
}

/** A bigint that only the database changes. */
type SumColumn = ColumnType<string, never, never>

/** The member that something belongs to, and the credential that created it. */
export interface CreatorColumns {
  workspace_id: string
  user_id: string
  credential_kind: 'SESSION' | 'API_KEY'
  credential_id: string
}

interface JobTable extends CreatorColumns {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  /** The client's address and the id of the request that created the job, for the audit log. */
  address: string
  request_id: string
  kind: JobKind
  state: Generated<JobState>
  sources: Json<StoredLocation[]>
  /** Null unless the kind is COPY, MOVE or SYNC. */
  target: ColumnType<JobTarget | null, string | null, never>
  conflict: JobConflict
  delete_extra: boolean
  dry_run: boolean
  /** The time whose state a RESTORE brings back; null for other kinds. */
  restore_at: ColumnType<Date | null, Date | null, never>
  /** Null unless the kind is KEEP_COPIES. */
  keeping: ColumnType<CopyKeeping | null, string | null, string>
  /** The results of a KEEP_COPIES at each of its sources, in their order; null before its first step. Only the database changes it. */
  checks: ColumnType<LocationCheck[] | null, never, null>
  /** A DELETE or a SYNC deletes for good, without the trash. True for jobs of versions without a trash. */
  permanent: Generated<boolean>
  /** A mutation waits for the job. It stops at the first failure, and then undoes what it has copied. */
  is_atomic: Generated<boolean>
  /** The decision of an atomic COPY or MOVE about its copies; null until everything is copied or something has failed. */
  outcome: ColumnType<JobOutcome | null, never, null>
  /** The request that the running server has to carry out next. */
  requested: ColumnType<'PAUSE' | 'CANCEL' | null, never, 'PAUSE' | 'CANCEL' | null>
  /** The member who requested the cancellation. */
  canceled_by: ColumnType<string | null, never, string | null>
  files: SumColumn
  bytes: SumColumn
  skipped: SumColumn
  deleted: SumColumn
  failed: SumColumn
  /** The counts of the running steps, as of the last renewal of the lease. */
  pending_files: ColumnType<string, never, number>
  pending_bytes: ColumnType<string, never, number>
  /** Null until everything is counted. */
  total_files: ColumnType<string | null, never, number | null>
  total_bytes: ColumnType<string | null, never, number | null>
  bytes_per_second: Generated<number>
  /** The reason why the whole job failed. */
  error_reason: ColumnType<Reason | null, never, Reason | null>
  error_message: ColumnType<string | null, never, string | null>
  created_at: CreatedAt
  started_at: ColumnType<Date | null, never, Date | null>
  ended_at: ColumnType<Date | null, never, Date | null>
  lease_id: ColumnType<string | null, never, string | null>
  lease_until: ColumnType<Date | null, never, Date | null>
  /** When a server took the job most recently. */
  taken_at: ColumnType<Date | null, never, Date>
}

/**
 * SOURCE: as the job names it, not looked up yet. FILE: a single file. FOLDER: its content has to be listed. EXTRA: it has to
 * be deleted at the target. LISTED: a folder that is deleted once everything below it is. KEPT: such a folder that is not
 * empty, because something in it failed or was skipped; only a retry works on it again. COPIED: a file that an atomic job
 * has copied. The steps of a RESTORE are LISTED until they are carried out, and KEPT after a dry run. The repairs of a
 * KEEP_COPIES are LISTED until they are carried out, and KEPT afterwards for its report.
 */
export type JobEntryState = 'SOURCE' | 'FILE' | 'FOLDER' | 'EXTRA' | 'LISTED' | 'KEPT' | 'COPIED'

export type JobOutcome = 'KEEP' | 'UNDO'

/** One step of a RESTORE. Times are in milliseconds since 1970. */
export interface RestoreStep {
  action: 'CREATE' | 'REPLACE' | 'DELETE'
  /** Where the content is, and its id there; null for DELETE. */
  content: { source: 'VERSION' | 'TRASH' | 'NATIVE'; id: string } | null
  kind: 'file' | 'directory'
  /** The size in bytes, the etag and the time of the file that comes back, or of the one that is deleted. */
  size: number | null
  etag: string | null
  modifiedAt: number | null
  /** Until when it was at the path; null for DELETE. */
  until: number | null
  /** The content that it replaces; null for nothing. Missing if another step changes that first, and for DELETE. */
  seen?: SeenEntry | null
}

/** An entry as it was when a step was planned. The time is in milliseconds since 1970. */
export interface SeenEntry {
  kind: 'file' | 'directory'
  size: number | null
  etag: string | null
  modifiedAt: number | null
}

/** How a KEEP_COPIES treats its sources: the first is the original, and the others are its copies. */
export interface CopyKeeping {
  /** Whether a damaged or missing file is restored from a good copy. */
  repair: boolean
  /** The days after which a file is read again. */
  recheckDays: number
  /** The numbers of the sources in which most files were missing when somebody retried the job, which begins again and restores them. */
  restoresMost?: readonly number[]
}

/** Counts of what a KEEP_COPIES has done and found at one of its sources. */
export interface LocationCheck {
  readFiles: number
  readBytes: number
  copiedFiles: number
  copiedBytes: number
  damaged: number
  missing: number
  changed: number
  restored: number
  /** Findings without a failure or a restoration: what was noted was wrong, or somebody has changed the file before its repair. */
  settled: number
}

export const findingKinds = ['DAMAGED', 'MISSING', 'CHANGED', 'UNCLEAR', 'FAILED'] as const
export type FindingKind = (typeof findingKinds)[number]

/** A finding of a KEEP_COPIES. Times are in milliseconds since 1970. */
export interface CopyFinding {
  kind: FindingKind
  /** The number of the source in which it is, and the number of the one with the content that it gets back; null if it gets none. */
  source: number
  from: number | null
  at: number
  /** The content that it gets back, in hex, and what it replaces. Null for a file that is missing. */
  sha256: string | null
  seen: (StoredVersion & { contentTag: string | null }) | null
}

/** The facts that show whether a file was changed or replaced. Times are in milliseconds since 1970. */
export interface StoredVersion {
  size: number | null
  etag: string | null
  modifiedAt: number | null
  fileId: string | null
}

/** An entry that a job still has to work on, or that has failed. */
interface JobEntryTable {
  job_id: string
  id: ColumnType<string, never, never>
  state: JobEntryState
  provider_id: string
  path: string
  /** Null for DELETE. */
  target_path: string | null
  depth: number
  /** A server began to work on it, so parts of it may exist at the target. */
  is_started: Generated<boolean>
  /** The job created the folder at the target, or the folder that the target path of another entry lies in. */
  is_new_target: Generated<boolean>
  /** Something directly in the folder failed. */
  has_failed: Generated<boolean>
  /** Something directly in the folder was skipped, so that a MOVE leaves the folder. */
  has_skipped: Generated<boolean>
  /** The page of the listing that comes next; null is the first. */
  cursor: ColumnType<string | null, string | null | undefined, string | null>
  /** Why the entry failed. Only a retry works on it again. */
  reason: ColumnType<Reason | null, Reason | null | undefined, Reason | null>
  message: ColumnType<string | null, string | null | undefined, string | null>
  /** The source of a copied file as it was before the copy, and the copy. */
  copied: ColumnType<{ seen: StoredVersion; copy: StoredVersion } | null, string | null | undefined, never>
  /** Null unless the job is a RESTORE. */
  restores: ColumnType<RestoreStep | null, string | null | undefined, never>
  /** Null unless the job is a KEEP_COPIES. */
  finding: ColumnType<CopyFinding | null, string | null | undefined, never>
}

interface ScheduleTable extends CreatorColumns {
  id: string
  name: string
  cron: string
  time_zone: string
  job: Json<ScheduledJob>
  /** Null if the schedule is disabled. */
  next_run_at: Date | null
  /** The reason why the server has disabled the schedule. */
  error_reason: ColumnType<Reason | null, never, Reason | null>
  error_message: ColumnType<string | null, never, string | null>
  last_job_id: ColumnType<string | null, never, string | null>
  last_skipped_at: ColumnType<Date | null, never, Date | null>
  /** The server that decides about a due run, and until when. */
  claim_id: ColumnType<string | null, never, string | null>
  claimed_until: ColumnType<Date | null, never, Date | null>
  created_at: CreatedAt
}

/** The jobs that a schedule creates. */
export interface ScheduledJob {
  kind: JobKind
  sources: StoredLocation[]
  target: JobTarget | null
  conflict: JobConflict
  deleteExtra: boolean
  dryRun: boolean
  /** True if a DELETE or a SYNC deletes for good, without the trash. */
  permanent: boolean
  /** The time whose state a RESTORE brings back. Undefined in schedules, which have none. */
  restoreAt?: Date | null
  /** Undefined unless the kind is KEEP_COPIES. */
  keeping?: CopyKeeping | null
}

interface WebhookTable extends CreatorColumns {
  id: string
  name: string
  url: string
  actions: WebhookAction[]
  /** Null for all events of the workspace. */
  provider_id: string | null
  path: string | null
  /** The signing secrets, as encrypted JSON. */
  secrets: Buffer
  is_enabled: Generated<boolean>
  /** Why the server has disabled the webhook. */
  error: ColumnType<string | null, never, string | null>
  created_at: CreatedAt
}

/** The facts of an event that a webhook gets. */
export interface OutboxEvent {
  /** ISO 8601. */
  at: string
  result: AuditResult
  userId: string | null
  userName: string | null
  userEmail: string | null
  credentialKind: CredentialKind | 'SCIM_TOKEN' | null
  credentialId: string | null
  providerId: string | null
  providerName: string | null
  path: string | null
  toProviderId: string | null
  toProviderName: string | null
  toPath: string | null
  subjectKind: string | null
  subjectId: string | null
  bytes: number | null
  /** The counts of a job that has ended; empty for other events. */
  details: Record<string, unknown>
}

/** The kinds of messages of a webhook: audit events, and changes that others make at the back ends. */
export type WebhookAction = AuditAction | 'OUTSIDE_CHANGE'

/** A trigger of `audit_events` inserts the rows, except those of tests and of changes that others make. */
interface WebhookDeliveryTable {
  webhook_id: string
  /** The id of the audit event, or a new one for a test. */
  id: string
  action: WebhookAction | 'TEST'
  event: Json<OutboxEvent>
  state: Generated<'PENDING' | 'DELIVERED' | 'FAILED'>
  attempts: Generated<number>
  /** Infinity while the webhook is disabled; the end of the claim while a server attempts the delivery. */
  next_attempt_at: ColumnType<Date | number, never, Date>
  claim_id: ColumnType<string | null, never, string | null>
  /** The HTTP status of the latest attempt. */
  status: ColumnType<number | null, never, number | null>
  /** Why the latest attempt failed. */
  error: ColumnType<string | null, never, string | null>
  ended_at: ColumnType<Date | null, never, Date | null>
}

interface EntryHoldTable {
  id: string
  workspace_id: string
  provider_id: string
  /** Ends with "/": see `db/entry-paths.ts`. */
  path: string
  reason: string
  held_until: Date | null
  user_id: string | null
  created_at: Generated<Date>
  released_at: Date | null
  /** Null for a hold that somebody has created. */
  object_lock: ObjectLockKind | null
  /** The earlier version whose content an object lock keeps; null for what is at the path. */
  version_id: string | null
  /** When a server finds out whether the object was stored that this is to lock; null for all other holds. */
  due_at: ColumnType<Date | null, Date | null | undefined, Date | null>
  /** What was at the path before the object was stored. */
  seen: ColumnType<SeenContent | SeenContent[] | null, string | null | undefined, null>
}

export interface SeenContent {
  /** Bytes. */
  size: number | null
  etag: string | null
  /** See `Entry.contentTag`: it stays when a version of the file is kept, which can change the etag. */
  contentTag: string | null
  /** Milliseconds since 1970. */
  modifiedAt: number | null
}

export type RetentionMode = 'COMPLIANCE' | 'GOVERNANCE'
export type ObjectLockKind = RetentionMode | 'LEGAL_HOLD'

/** The storages with S3 Object Lock, and the retention of new objects. */
interface ObjectLockSettingsTable {
  provider_id: string
  mode: RetentionMode | null
  days: number | null
}

interface EntryLockTable {
  token: string
  provider_id: string
  /** Ends with "/": see `db/entry-paths.ts`. */
  path: string
  workspace_id: string
  user_id: string
  is_exclusive: boolean
  /** Whether everything below the path is locked as well. */
  is_deep: boolean
  /** XML. */
  owner: string
  expires_at: ColumnType<Date, Date, Date>
}

interface EntryPropertyTable {
  provider_id: string
  /** Ends with "/": see `db/entry-paths.ts`. */
  path: string
  /** `{namespace}name` */
  name: string
  /** The element with this name. */
  xml: string
}

interface EntryStarTable {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  workspace_id: string
  user_id: string
  provider_id: string
  /** Ends with "/": see `db/entry-paths.ts`. */
  path: string
  is_folder: boolean
  created_at: CreatedAt
}

interface EntryTagTable {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  workspace_id: string
  provider_id: string
  /** Ends with "/": see `db/entry-paths.ts`. */
  path: string
  name: string
  /** The name in lower case. */
  name_key: string
  is_folder: boolean
  created_at: CreatedAt
}

interface EntryCommentTable {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  workspace_id: string
  provider_id: string
  /** Ends with "/": see `db/entry-paths.ts`. */
  path: string
  is_folder: boolean
  /** Null for an author whose account was deleted. */
  user_id: string | null
  /** Mentions are `@[<user id>]`. */
  text: string
  created_at: CreatedAt
  edited_at: Generated<Date | null>
}

interface CommentNoticeTable {
  id: Generated<string>
  comment_id: string
  user_id: string
  attempts: Generated<number>
  /** Null once the email was sent or canceled. */
  next_attempt_at: Generated<Date | null>
  claim_id: Generated<string | null>
}

/**
 * TRASHING: it goes to the trash, and is perhaps there. TRASHED: it is there, and people see it. RESTORING: it comes back, and is
 * perhaps still there. REMOVING: it is deleted for good.
 */
export type TrashState = 'TRASHING' | 'TRASHED' | 'RESTORING' | 'REMOVING'

/** See the migration. */
interface FileVersionTable {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  provider_id: string
  /** As `storedPath` writes it. */
  path: string
  /** A bigint. */
  size: ColumnType<string | null, number | null, number | null>
  modified_at: Date | null
  etag: string | null
  /** Who replaced or deleted the file. */
  user_id: string
  /** The member whose quota its content counts against. */
  charged_to: string | null
  state: FileVersionState
  replaced_at: ColumnType<Date, Date | undefined, never>
  expires_at: Date
  due_at: Date
}

/** A version that is being kept or restored by a killed server is settled later. Only KEPT ones are listed. */
export type FileVersionState = 'KEEPING' | 'KEPT' | 'RESTORING' | 'REMOVING'

interface TrashItemTable {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  provider_id: string
  /** The path before the deletion, which starts with "/". */
  path: string
  kind: 'file' | 'directory'
  /** Null for a directory, and where the back end does not know it. */
  size: ColumnType<string | null, number | null, never>
  /** The id in the trash of the back end; null in the reserved folder. */
  native_id: string | null
  state: ColumnType<TrashState, TrashState | undefined, TrashState>
  /** Who deleted it. */
  user_id: string
  /** The job that deleted it; null for a request. */
  job_id: string | null
  /** The path that an interrupted restore has begun to copy a folder to. */
  restored_to: ColumnType<string | null, never, string | null>
  deleted_at: CreatedAt
  expires_at: ColumnType<Date, Date | undefined, never>
  /** When a server takes care of the item: when it expires or, before that, when a change of its state counts as interrupted. */
  due_at: ColumnType<Date, Date | undefined, Date>
}

interface ShareTable extends CreatorColumns {
  /** A UUID of version 7: ids are in order of time. */
  id: string
  kind: ShareKind
  provider_id: string
  /** Without a leading "/". */
  paths: string[]
  is_folder: boolean
  /** SHA-256 of the token. */
  token_hash: Buffer
  /** The encrypted token, so that the creator can copy the link again. */
  token: Buffer
  password_hash: string | null
  note: string
  expires_at: Date | null
  max_downloads: number | null
  downloads: ColumnType<string, never, string>
  max_bytes: ColumnType<string | null, number | null, number | null>
  received_bytes: ColumnType<string, never, string>
  file_types: string[]
  /** Whether the creator gets emails about files that arrive. */
  notify: ColumnType<boolean, boolean | undefined, boolean>
  created_at: CreatedAt
  revoked_at: ColumnType<Date | null, never, Date>
  last_used_at: ColumnType<Date | null, never, Date>
  /** Whether only the people and groups of `share_recipients` can open the share. */
  is_for_members: ColumnType<boolean, boolean, never>
}

/** Either `user_id` or `group_id` is null. */
interface ShareRecipientTable {
  id: Generated<string>
  share_id: string
  workspace_id: string
  user_id: string | null
  group_id: string | null
}

interface ShareClaimTable {
  id: string
  share_id: string
  bytes: string
  lapses_at: Date
}

interface ShareEmailTable {
  id: string
  share_id: string
  recipient: string | null
  files: Generated<number>
  bytes: Generated<string>
  attempts: Generated<number>
  next_attempt_at: Generated<Date>
  claim_id: string | null
}

export const catalogueModes = ['OFF', 'NAMES', 'CONTENT'] as const
export type CatalogueMode = (typeof catalogueModes)[number]

/** A trigger of `providers` inserts the rows. */
interface CatalogueTable {
  /** Names the catalogue in its entries, which are many. */
  id: Generated<number>
  /** Null once the provider is disconnected, or opens another back end: the entries are removed. */
  provider_id: string | null
  mode: Generated<CatalogueMode>
  /** The number of rows in `catalogue_entries`: a bigint. */
  entries: ColumnType<string, never, RawBuilder<string> | number>
  /** The beginning of the present round, which lists every folder; null between two rounds. */
  round_started_at: Date | null
  /** The round has listed all folders before this path; null at its beginning. */
  round_next: string | null
  /** The round has left out something that it could not list, or whose path is too long. */
  round_has_gaps: Generated<boolean>
  /** The catalogue had no entries when the round began. */
  round_is_first: Generated<boolean>
  next_round_at: Generated<Date>
  /** The beginning of the last round that has ended. */
  indexed_at: Date | null
  has_gaps: Generated<boolean>
  /** The failures of the back end since the last success, and the reason of the latest one. */
  failures: Generated<number>
  failure: Reason | null
  retry_at: Date | null
  /** When a server last confirmed that it follows the changes. */
  followed_at: Date | null
  claimed_at: Generated<Date>
  lease_id: string | null
  lease_until: Date | null
  /** How far the files were added that the catalogue had before it got the mode CONTENT; null once all were. */
  content_next: string | null
  /** The failures of the back end since the last file was read. */
  content_failures: Generated<number>
  content_retry_at: Date | null
  content_claimed_at: Generated<Date>
  content_lease_id: string | null
  content_lease_until: Date | null
  /** The position in the changes that the back end reports; null before the first report, and where it reports none. */
  changes_cursor: string | null
  /** The server that asks the back end for its changes. It keeps this right as long as it renews its row in `catalogue_servers`. */
  changes_server: string | null
  /** When a server may ask again after a failure. */
  changes_retry_at: Date | null
  /** When the files are added up next, for `usage_days`. */
  usage_due_at: Generated<Date>
}

/** Where the catalogue is to look at a time, because no event of the audit log says that something has changed. */
interface CatalogueExpectedTable {
  due_at: Date
  catalogue: number
  path: string
}

/** The files directly in a folder. Triggers write it. */
interface CatalogueFolderTable {
  files: ColumnType<string, never, never>
  bytes: ColumnType<string, never, never>
  catalogue: ColumnType<number, never, never>
  path: ColumnType<string, never, never>
}

/** A file or a folder. Folder times are those of the last look, as back ends change them with each entry in the folder. */
interface CatalogueEntryTable {
  size: string | null
  modified_at: Date | null
  /** A hash of the id that the back end gives, which may contain its address. */
  file_id: string | null
  catalogue: number
  is_folder: boolean
  /** Without a leading "/". */
  path: string
  /** The folded name with marks before its words: see `services/catalogue/names.ts`. */
  name: string
  etag: string | null
  checksums: ColumnType<Record<string, string> | null, string | null, string | null>
  /** Hashes of parts of the name and of the folders around the entry. */
  grams: number[]
}

/** One version of a file whose text can be read: WAITING until a server has read it, then DONE or FAILED until it changes. */
interface CatalogueContentTable {
  size: string | null
  modified_at: Date | null
  /** Changes with each version. */
  queued_id: Generated<string>
  catalogue: number
  path: string
  etag: string | null
  state: Generated<'WAITING' | 'DONE' | 'FAILED'>
  failure: string | null
  /** Hashes of the folders around the file. */
  folders: number[]
  /** The beginning of the text, for snippets. */
  content: string | null
  /** A tsvector of the folded words: see `services/catalogue/content/words.ts`. */
  words: ColumnType<string | null, never, never>
}

/**
 * ENTRY: the entry, and if it is a folder anything below it, may have changed. CREATED: a folder was created, empty. REMOVED: a folder was deleted. MOVED: a folder moved to `to_path`. FOLDER: entries directly in the
 * folder may have changed. TREE: anything below the folder may have changed. The search shows nothing at or below the paths of
 * REMOVED and MOVED.
 */
export type CatalogueChangeKind = 'ENTRY' | 'CREATED' | 'REMOVED' | 'MOVED' | 'FOLDER' | 'TREE'

/** A change that the catalogue does not have yet. A trigger of `audit_events` inserts most rows. */
interface CatalogueChangeTable {
  /** A bigint in the order of the changes. */
  id: ColumnType<string, never, never>
  catalogue: number
  kind: CatalogueChangeKind
  path: string
  to_path: ColumnType<string | null, string | null | undefined, never>
  /** How far the work on the change has come. */
  next: ColumnType<string | null, string | null | undefined, string | null>
  /** The back end has reported it: what differs from the catalogue then goes to `outside_changes`. */
  is_outside: Generated<boolean>
}

export const outsideChangeKinds = ['WRITTEN', 'REMOVED', 'TREE_CHANGED'] as const
export type OutsideChangeKind = (typeof outsideChangeKinds)[number]

/** A change that nobody has made through this server. It waits for a moment, in case an audit event explains it. */
interface OutsideChangeTable {
  /** A UUID of version 7, as those of audit events. */
  id: string
  catalogue: number
  kind: OutsideChangeKind
  /** Without a leading "/". */
  path: string
  at: Generated<Date>
  /** Subscribers and webhooks have been told. The row stays for a while, because servers read it. */
  published_at: ColumnType<Date | null, Date | null | undefined, Date>
}

/** The servers that write changes. One that ends without removing its row may have lost some. */
/** The SHA-256 of the content of one version of a file: the one that was read last. */
interface ContentChecksumTable {
  provider_id: string
  /** Without a leading "/". */
  path: string
  size: string
  modified_at: Date | null
  etag: string | null
  content_tag: string | null
  sha256: Buffer
  /** When the content was last read; null if it was only written. */
  read_at: ColumnType<Date | null, Date | null | undefined, Date | null>
}

/** A folder and one of its copies. */
interface KeptFolderTable {
  id: Generated<number>
  /** The SHA-256 of both locations. */
  key: Buffer
  original_provider_id: string
  /** Without a leading "/". */
  original_path: string
  provider_id: string
  path: string
  used_at: ColumnType<Date, Date | undefined, Date>
}

/** The content that a file of a kept folder and its copy agreed on, and the versions that both had then. */
interface KeptFileTable {
  kept_folder: number
  /** Below the kept folder, without a leading "/". */
  folder: string
  name: string
  size: string
  original_modified_at: Date | null
  original_etag: string | null
  original_content_tag: string | null
  modified_at: Date | null
  etag: string | null
  content_tag: string | null
  sha256: Buffer
  /** When both were last read, or the copy was made. */
  checked_at: Date
  /** The original was deleted or moved through this server. */
  is_deleted: boolean
}

interface CatalogueServerTable {
  id: string
  renewed_at: Date
  /** Changes that run at present, without an event yet: see `RunningChange`. */
  running: ColumnType<unknown, string | undefined, string>
}

/** A limit on what a folder of a provider contains, or on what a member is charged for. Only triggers change the sums. */
interface QuotaRuleTable {
  id: string
  workspace_id: string
  provider_id: string | null
  /** Ends with "/": see `db/entry-paths.ts`. Null for the rule of a member. */
  path: string | null
  user_id: string | null
  max_bytes: ColumnType<string | null, number | null, number | null>
  max_files: ColumnType<string | null, number | null, number | null>
  used_bytes: ColumnType<string, never, never>
  used_files: ColumnType<string, never, never>
  reserved_bytes: ColumnType<string, never, never>
  reserved_files: ColumnType<string, never, never>
  created_at: CreatedAt
}

/** A file that counts against quotas. Paths end with "/". */
interface QuotaFileTable {
  provider_id: string
  workspace_id: string
  /** The member who is charged for it; null if nobody knows who created it. */
  user_id: string | null
  size: Bytes
  /** When this server changed it last. */
  changed_at: Date
  /** When a count has seen it last. */
  counted_at: Date | null
  path: string
  /** The path whose quotas it counts against: for a deleted file or a version, where it was. */
  charged_path: string
}

/** A change that is running, with what it has reserved in each of its rules. */
interface QuotaChangeTable {
  id: string
  provider_id: string
  workspace_id: string
  user_id: string
  path: string
  /** Where an entry moves from. */
  source_path: string | null
  /** The change is of everything below the path, too. */
  is_tree: boolean
  bytes: Bytes
  /** The bytes of the file that the change has stored, if that is known although the outcome of other changes is not. */
  stored_size: Generated<string | null>
  rules: string[]
  rule_bytes: string[]
  rule_files: string[]
  upload_id: string | null
  /** The process that renews the lease; null if nothing is running. */
  holder: string | null
  /** When a server looks at the back end. Null for the reservation of an upload that is not finishing. */
  due_at: Date | null
  begun_at: CreatedAt
}

/** A path at which something was removed or added as a whole, so that an earlier listing is outdated there. */
interface QuotaMarkTable {
  provider_id: string
  made_at: Date
  is_new: boolean
  path: string
}

/** A provider whose files are counted. */
interface QuotaCountTable {
  /** That of the provider. */
  id: string
  /** Null until all files were counted. */
  counted_at: Date | null
  lease_id: string | null
  due_at: Generated<Date>
  /** When somebody wanted a count last: one that began before does not make the sums exact. */
  wanted_at: Date | null
}

/** The usage of a provider on a day, in UTC. */
interface UsageDayTable {
  provider_id: string
  /** "YYYY-MM-DD" to write; a read selects a text. */
  day: ColumnType<Date, string, never>
  files: Bytes
  bytes: Bytes
}

/** A process of a server. One that was killed leaves its row. */
interface ServerProcessTable {
  id: string
  /** The name of its machine. */
  host: string
  version: string
  node_version: string
  started_at: Date
  renewed_at: Date
}

/** An email that was given up. */
interface LostEmailTable {
  id: Generated<string>
  at: CreatedAt
}
