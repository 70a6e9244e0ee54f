import type { AuditEvent, AuditSubjectKind } from '../../../db/audit-events.ts'
import type { AuditAction } from '../../../db/schema.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { AuditEventRef } from '../refs.ts'
import { notALocation } from '../rules.ts'
import { definePage, toPage } from './page.ts'
import { CredentialKind } from './user.ts'

const actions: Record<AuditAction, { description: string }> = {
  REGISTER: { description: 'A person registered.' },
  LOGIN: {
    description:
      'A person signed in or tried to. `details.email` is the address that was entered; if only the password was wrong, the subject is the member.',
  },
  LOGOUT: { description: 'A session was ended.' },
  PASSWORD_CHANGE: { description: 'A person changed their password.' },
  PASSWORD_RESET_REQUEST: {
    description:
      'Somebody asked for an email with a link for a new password. `details.email` is the address that was entered, which may belong to nobody.',
  },
  PASSWORD_RESET_CREATE: { description: 'A link was created with which a member sets a new password.' },
  PASSWORD_RESET: { description: 'A person set a new password with such a link.' },
  PROFILE_UPDATE: { description: 'A person changed their own name, their language or which emails they get.' },
  LINK_INVITE_CREATE: { description: 'An invite was created with which a member links an account at an issuer.' },
  IDENTITY_LINK: { description: 'A person linked an account at an issuer, with which they can sign in.' },
  IDENTITY_UNLINK: { description: 'A person, or an administrator, removed such an account.' },
  IDENTITY_CONFIRM: { description: 'A person confirmed who they are, before a sensitive change.' },
  FACTOR_ADD: { description: 'A person added an authenticator app or a passkey to their account.' },
  FACTOR_UPDATE: { description: 'A person renamed a passkey.' },
  FACTOR_REMOVE: {
    description: 'A person removed a second factor of theirs, or an administrator all of another member.',
  },
  RECOVERY_CODES_CREATE: { description: 'A person replaced their recovery codes.' },
  ISSUER_CREATE: { description: 'An issuer of single sign-on was added.' },
  ISSUER_UPDATE: { description: 'An issuer of single sign-on was changed; `details.changes` says what.' },
  ISSUER_DELETE: { description: 'An issuer of single sign-on was removed, with the sessions and identities of it.' },
  ISSUER_TEST: { description: 'A test sign-in with an issuer began. It changes nothing.' },
  INVITE_CREATE: { description: 'An invite was created.' },
  INVITE_REVOKE: { description: 'An invite was revoked.' },
  MEMBER_VIEW: { description: 'Somebody looked at what a member can access and do.' },
  MEMBER_UPDATE: { description: 'The role or provider access of a member was changed.' },
  MEMBER_REMOVE: { description: 'A membership was ended.' },
  MEMBER_DEACTIVATE: {
    description:
      'A member was deactivated: their sessions ended, and their API keys and share links are refused. `details.source` names the directory that did it, if one did.',
  },
  MEMBER_REACTIVATE: { description: 'A member who was deactivated was reactivated.' },
  MEMBER_CREATE: { description: 'A directory created an account over SCIM.' },
  SCIM_TOKEN_CREATE: { description: 'A token for SCIM was created.' },
  SCIM_TOKEN_REVOKE: { description: 'A token for SCIM was revoked.' },
  GROUP_CREATE: { description: 'A group was created.' },
  GROUP_UPDATE: { description: 'The name, role or provider access of a group was changed.' },
  GROUP_DELETE: { description: 'A group was deleted. Its members stay in the workspace.' },
  GROUP_MEMBER_ADD: { description: 'A member was added to a group, which `details.group` names.' },
  GROUP_MEMBER_REMOVE: { description: 'A member was removed from a group, which `details.group` names.' },
  SERVICE_ACCOUNT_CREATE: { description: 'A service account was created.' },
  SERVICE_ACCOUNT_RENAME: { description: 'A service account was renamed.' },
  API_KEY_CREATE: { description: 'An API key was created.' },
  API_KEY_RENAME: { description: 'An API key was renamed.' },
  API_KEY_REVOKE: { description: 'An API key was revoked, or the connection of an application.' },
  CONNECTION_CREATE: {
    description: 'A person connected an application, or was refused; `details` names it and the rights that it got.',
  },
  CONNECTION_OPEN: { description: 'An application got the first tokens of its connection.' },
  CONNECTION_END: {
    description:
      'A connection ended without its person: `details.cause` is `APPLICATION` if the application ended it, and `CODE_REUSED` or `REFRESH_TOKEN_REUSED` after a sign of theft.',
  },
  APPROVAL_REQUEST: {
    description: 'A call through MCP waits for approval. The location is the one of what it would remove or replace.',
  },
  APPROVAL_DECIDE: { description: 'A person approved or refused such a call: see `details.isApproved`.' },
  PROVIDER_CONNECT: { description: 'A provider was connected.' },
  PROVIDER_UPDATE: { description: 'The name or configuration of a provider was changed.' },
  PROVIDER_DISCONNECT: { description: 'A provider was disconnected.' },
  PROVIDER_AUTHORIZE: { description: 'An OAuth consent was started.' },
  PROVIDER_CONSENT: { description: 'An OAuth consent was completed or refused in the browser that started it.' },
  PROVIDER_TEST: { description: 'A provider was tested.' },
  WORKSPACE_UPDATE: { description: 'The settings of the workspace were changed.' },
  FOLDER_CREATE: { description: 'A folder was created.' },
  UPLOAD: { description: 'A file was uploaded.' },
  UPLOAD_TAKE_OVER: {
    description:
      'An unfinished upload was ended, so that another could begin at its path. The subject is the member who made it, or the share link through which it came.',
  },
  RENAME: { description: 'A file or folder was renamed. If a job did it, the job is the subject.' },
  MOVE: { description: 'A file or folder was moved. If a job did it, the job is the subject.' },
  COPY: { description: 'A file or folder was copied. If a job did it, the job is the subject.' },
  PART_COPY: {
    description:
      'The content of a file was copied into part `details.part` of an upload over S3. The file appears with a later `UPLOAD`.',
  },
  DELETE: {
    description:
      'A file or folder was deleted. If a job did it, the job is the subject. `details.trashed` is true if it went to the trash.',
  },
  DOWNLOAD: {
    description:
      'The content of a file was sent. A download through a link counts for the credential that created the link.',
  },
  DIRECT_DOWNLOAD: { description: 'A link that reads a file directly from the back end was created.' },
  DIRECT_UPLOAD: { description: 'A link that writes a file directly to the back end was created.' },
  QUOTA_SET: { description: 'Somebody set or removed a quota; `details` has its limits.' },
  HOLD_CREATE: { description: 'Somebody created a hold; `details` has its reason and its end.' },
  HOLD_RELEASE: { description: 'An owner released a hold.' },
  PUSH_SUBSCRIBE: {
    description: 'A member switched on notifications in a browser. `details` has the host of its push service.',
  },
  PUSH_UPDATE: { description: 'A member chose the events of which a browser gets notifications.' },
  PUSH_UNSUBSCRIBE: { description: 'A member switched off notifications in a browser.' },
  PUSH_TEST: { description: 'A member sent a notification to a browser as a test.' },
  LOCK_END: {
    description: 'Somebody ended a lock; `details` has the ID of the member who held it, and the locked path.',
  },
  PROPERTIES_UPDATE: {
    description: 'A WebDAV client changed properties of an entry, or an SFTP client its time; `details` names them.',
  },
  STAR_ADD: { description: 'A member gave an entry a star.' },
  STAR_REMOVE: { description: 'A member took the star of an entry away.' },
  TAGS_UPDATE: {
    description: 'Somebody changed the tags of an entry; `details` has those that were added and removed.',
  },
  COMMENT_CREATE: { description: 'A member commented on an entry. `details` has the ID of the comment.' },
  COMMENT_UPDATE: { description: 'A member edited their comment.' },
  COMMENT_DELETE: { description: 'A member deleted their comment, or an administrator one of somebody else.' },
  READ: {
    description: 'Another read was refused; `details` says which. Successful reads are not recorded.',
  },
  RESTORE: {
    description:
      'A file or folder was moved from the trash to the path of the event, or an earlier version of the file was restored.',
  },
  VERSION_DELETE: { description: 'An earlier version of the file was deleted.' },
  TRASH_EMPTY: {
    description: 'The trash of a provider was emptied of the entries that were deleted at or below `details.paths`.',
  },
  JOB_CREATE: {
    description:
      'A job was created. The locations are its first source and its target. `details.otherSources` has the other sources.',
  },
  JOB_PAUSE: { description: 'A job was paused.' },
  JOB_RESUME: { description: 'A paused job was resumed.' },
  JOB_CANCEL: { description: 'A job was canceled.' },
  JOB_RETRY: { description: 'The failed entries of a job were queued again.' },
  JOB_END: { description: 'A job ended. `details` has its state and counts; a job records no event per file.' },
  DAMAGE_FOUND: {
    description:
      'A VERIFY or a KEEP_COPIES has found damaged or missing files. `details` has their numbers, and how many were restored.',
  },
  SCHEDULE_CREATE: { description: 'A schedule was created. The locations are those of its jobs, as in `JOB_CREATE`.' },
  SCHEDULE_UPDATE: {
    description: 'A schedule was changed, or disabled by the server: the result then says why.',
  },
  SCHEDULE_DELETE: { description: 'A schedule was deleted.' },
  WEBHOOK_CREATE: { description: 'A webhook was created. The location is the one whose events it gets.' },
  WEBHOOK_UPDATE: { description: 'A webhook was changed, or disabled by the server: the result then says why.' },
  WEBHOOK_DELETE: { description: 'A webhook was deleted.' },
  WEBHOOK_ROTATE: { description: 'The signing secret of a webhook was replaced.' },
  WEBHOOK_TEST: { description: 'A test was sent to a webhook.' },
  WEBHOOK_REPLAY: { description: 'Deliveries of a webhook were sent again.' },
  SHARE_CREATE: {
    description: 'A share was created. The location is its first path; `details.otherSources` has the others.',
  },
  SHARE_UPDATE: { description: 'The settings of a share were changed.' },
  SHARE_REVOKE: { description: 'A share was revoked.' },
  SHARE_UNLOCK: { description: 'Somebody sent the password of a share link, right or wrong.' },
}

const AuditActionEnum = builder.enumType('AuditAction', { description: 'The action.', values: actions })

const subjects: Record<AuditSubjectKind, { description: string }> = {
  API_KEY: { description: 'An API key.' },
  MEMBER: { description: 'A member, identified by the user ID.' },
  GROUP: { description: 'A group.' },
  INVITE: { description: 'An invite.' },
  SCIM_TOKEN: { description: 'A token for SCIM.' },
  SESSION: { description: 'A session that was ended from another session.' },
  WORKSPACE: { description: 'The workspace.' },
  JOB: { description: 'A job.' },
  SCHEDULE: { description: 'A schedule.' },
  WEBHOOK: { description: 'A webhook.' },
  SHARE: { description: 'A share.' },
  ISSUER: { description: 'An issuer of single sign-on.' },
}

const AuditSubjectKindEnum = builder.enumType('AuditSubjectKind', {
  description: 'The kind of object that was changed, other than files and providers.',
  values: subjects,
})

AuditEventRef.implement({
  description:
    'An entry of the audit log: who did what, with which credential, from where, and with which result. It keeps the names of that time.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The ID of the event. IDs sort by time.' }),
    at: t.expose('at', { type: 'DateTime', description: 'The time at which the action ended.' }),
    action: t.expose('action', { type: AuditActionEnum, description: 'The action.' }),
    result: t.exposeString('result', {
      description: '`OK`, the `reason` of the error, or `CUT` if a transfer ended early.',
    }),
    userId: t.exposeID('userId', {
      nullable: true,
      description: 'The ID of the person who did it, or null if unknown.',
    }),
    userEmail: t.exposeString('userEmail', { nullable: true, description: 'The email address of that person.' }),
    userName: t.exposeString('userName', { nullable: true, description: 'The name of that person.' }),
    credentialKind: t.expose('credentialKind', {
      type: CredentialKind,
      nullable: true,
      description: 'The kind of the credential, or null without one.',
    }),
    credentialId: t.exposeID('credentialId', {
      nullable: true,
      description: 'The ID of the session, API key or share.',
    }),
    credentialPrefix: t.exposeString('credentialPrefix', {
      nullable: true,
      description: 'The first 12 characters of an API key.',
    }),
    address: t.exposeString('address', {
      description:
        'The IP address of the client; the first one if the event counts several requests. Empty if the server acted by itself.',
    }),
    requestId: t.exposeString('requestId', {
      description: 'The ID of the request, as in the response and the server log. Empty if the server acted by itself.',
    }),
    providerId: t.exposeID('providerId', { nullable: true, description: 'The ID of the provider.' }),
    providerName: t.exposeString('providerName', { nullable: true, description: 'The name of the provider.' }),
    path: t.exposeString('path', {
      nullable: true,
      description: 'The absolute path within the provider, or null for the provider as a whole.',
    }),
    toProviderId: t.exposeID('toProviderId', {
      nullable: true,
      description: 'The ID of the provider to which an entry was moved or copied.',
    }),
    toProviderName: t.exposeString('toProviderName', { nullable: true, description: 'The name of that provider.' }),
    toPath: t.exposeString('toPath', { nullable: true, description: 'The destination path, including the new name.' }),
    subjectKind: t.expose('subjectKind', {
      type: AuditSubjectKindEnum,
      nullable: true,
      description: 'The kind of object that was changed, if it is neither a file nor a provider.',
    }),
    subjectId: t.exposeString('subjectId', { nullable: true, description: 'The ID of the object that was changed.' }),
    bytes: t.expose('bytes', {
      type: 'SafeInt',
      nullable: true,
      description: 'The number of bytes that were sent, stored or deleted.',
    }),
    count: t.exposeInt('count', {
      description:
        'The number of times it happened. Equal failures and downloads within a second are one event. Equal failures without a credential within ten minutes are one event whose count grows; `details.until` is the time of the last one.',
    }),
    details: t.field({
      type: 'JSON',
      description: 'Further details, which depend on the action. They contain no secrets.',
      resolve: event => event.details,
    }),
  }),
})

const AuditEventConnection = definePage<AuditEvent>('AuditEvent', AuditEventRef, 'events of the audit log')

const AuditEventFilter = builder.inputType('AuditEventFilter', {
  description: 'A filter for events. An event must match all of the given fields.',
  fields: t => ({
    userId: t.id({ description: 'The ID of the person who did it.' }),
    credentialId: t.id({ description: 'The ID of the session or API key.' }),
    providerId: t.id({ description: 'The ID of the provider or of the destination provider.' }),
    pathPrefix: t.string({
      description: 'A file or folder of `providerId`, including everything below it.',
      // This filter only narrows the result, which is limited to what the credential can access.
      ...notALocation,
    }),
    action: t.field({ type: AuditActionEnum, description: 'The action.' }),
    result: t.string({ description: '`OK`, `CUT` or the `reason` of an error.' }),
    since: t.field({ type: 'DateTime', description: 'The earliest time, inclusive.' }),
    until: t.field({ type: 'DateTime', description: 'The latest time, exclusive.' }),
  }),
})

const maxPage = 200

builder.queryField('auditEvents', t =>
  t.field({
    type: AuditEventConnection,
    description:
      'Returns the audit log, newest first. A credential without access to all providers sees only the events all of whose locations it can access.',
    authScopes: { scope: 'admin' },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of events, 1 to ${maxPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
      filter: t.arg({ type: AuditEventFilter, description: 'The events to return. The default is all.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxPage),
    resolve: async (_root, { first, after, filter }, { services, viewer }) => {
      const page = await services.audit.list(viewer, filter ?? {}, { first: first ?? 50, after })
      return toPage(page, after, ({ event }) => event)
    },
  }),
)
