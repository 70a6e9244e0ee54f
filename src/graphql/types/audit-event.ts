import type { AuditEvent, AuditSubjectKind } from '../../db/audit-events.ts'
import type { AuditAction } from '../../db/schema.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { AuditEventRef } from '../refs.ts'
import { notALocation } from '../rules-plugin.ts'
import { definePage } from './page.ts'
import { CredentialKind } from './viewer.ts'

const actions: Record<AuditAction, { description: string }> = {
  REGISTER: { description: 'Somebody made an account.' },
  LOGIN: {
    description:
      'Somebody signed in, or tried to: `details.email` is what they gave, and the subject of a wrong password is the member.',
  },
  LOGOUT: { description: 'A session was ended.' },
  PASSWORD_CHANGE: { description: 'Somebody changed their password.' },
  INVITE_CREATE: { description: 'An invite was made.' },
  INVITE_REVOKE: { description: 'An invite was revoked.' },
  MEMBER_UPDATE: { description: 'A member was given a role or provider access.' },
  MEMBER_REMOVE: { description: 'A membership was ended.' },
  API_KEY_CREATE: { description: 'An API key was made.' },
  API_KEY_RENAME: { description: 'An API key was given another name.' },
  API_KEY_REVOKE: { description: 'An API key was revoked.' },
  PROVIDER_CONNECT: { description: 'A provider was connected.' },
  PROVIDER_UPDATE: { description: 'The name or configuration of a provider was changed.' },
  PROVIDER_DISCONNECT: { description: 'A provider was disconnected.' },
  PROVIDER_AUTHORIZE: { description: 'An OAuth consent was begun.' },
  PROVIDER_CONSENT: { description: 'An OAuth consent came back, by the browser of whoever began it.' },
  PROVIDER_TEST: { description: 'A provider was tested.' },
  WORKSPACE_UPDATE: { description: 'The settings of the workspace were changed.' },
  FOLDER_CREATE: { description: 'A folder was made.' },
  UPLOAD: { description: 'A file was stored.' },
  RENAME: { description: 'A file or folder was renamed.' },
  MOVE: { description: 'A file or folder was moved.' },
  COPY: { description: 'A file or folder was copied.' },
  DELETE: { description: 'A file or folder was deleted.' },
  DOWNLOAD: { description: 'The content of a file was sent, also through a link: then it is that of its credential.' },
  DIRECT_DOWNLOAD: { description: 'A link was given that reads a file straight from the back end.' },
  DIRECT_UPLOAD: { description: 'A link was given that writes a file straight to the back end.' },
  READ: {
    description: 'Something else was to be read and was refused; `details` says what. What is read is not told.',
  },
}

const AuditActionEnum = builder.enumType('AuditAction', { description: 'What was done.', values: actions })

const subjects: Record<AuditSubjectKind, { description: string }> = {
  API_KEY: { description: 'An API key.' },
  MEMBER: { description: 'A member, by the id of the user.' },
  INVITE: { description: 'An invite.' },
  SESSION: { description: 'A session, other than by signing out of it.' },
  WORKSPACE: { description: 'The workspace.' },
}

const AuditSubjectKindEnum = builder.enumType('AuditSubjectKind', {
  description: 'What was changed, beside files and providers.',
  values: subjects,
})

AuditEventRef.implement({
  description: 'Who did what, with which credential, from where, and how it ended. Names are as they were then.',
  fields: t => ({
    id: t.exposeID('id', { description: 'Sorts by time.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it ended.' }),
    action: t.expose('action', { type: AuditActionEnum, description: 'What was done.' }),
    result: t.exposeString('result', {
      description: '`OK`, the `reason` of the error, or `CUT` where it ended before all was through.',
    }),
    userId: t.exposeID('userId', { nullable: true, description: 'Of who did it; null where that is unknown.' }),
    userEmail: t.exposeString('userEmail', { nullable: true, description: 'Of who did it.' }),
    userName: t.exposeString('userName', { nullable: true, description: 'Of who did it.' }),
    credentialKind: t.expose('credentialKind', {
      type: CredentialKind,
      nullable: true,
      description: 'What it was done with; null is without a credential.',
    }),
    credentialId: t.exposeID('credentialId', { nullable: true, description: 'Of the session or API key.' }),
    credentialPrefix: t.exposeString('credentialPrefix', {
      nullable: true,
      description: 'The first 12 characters of an API key.',
    }),
    address: t.exposeString('address', {
      description: 'The IP address that it came from, of several the first; empty for what the server did by itself.',
    }),
    requestId: t.exposeString('requestId', {
      description: 'As in the answer and in the log of the server; empty for what the server did by itself.',
    }),
    providerId: t.exposeID('providerId', { nullable: true, description: 'Of the provider that it was about.' }),
    providerName: t.exposeString('providerName', { nullable: true, description: 'Of that provider.' }),
    path: t.exposeString('path', {
      nullable: true,
      description: 'Absolute within the provider; null is the provider as a whole.',
    }),
    toProviderId: t.exposeID('toProviderId', {
      nullable: true,
      description: 'Of the provider that something was moved or copied to.',
    }),
    toProviderName: t.exposeString('toProviderName', { nullable: true, description: 'Of that provider.' }),
    toPath: t.exposeString('toPath', { nullable: true, description: 'Where it went, its new name included.' }),
    subjectKind: t.expose('subjectKind', {
      type: AuditSubjectKindEnum,
      nullable: true,
      description: 'What was changed, where that is no file and no provider.',
    }),
    subjectId: t.exposeString('subjectId', { nullable: true, description: 'Of what was changed.' }),
    bytes: t.expose('bytes', { type: 'SafeInt', nullable: true, description: 'That were sent, stored or deleted.' }),
    count: t.exposeInt('count', {
      description:
        'How often it happened: failures and downloads that are alike are one event for each second. Failures without a credential are one event for ten minutes, whose count grows meanwhile; `details.until` is the time of the last.',
    }),
    details: t.field({
      type: 'JSON',
      description: 'What more there is to say, by kind of action. It holds no secrets.',
      resolve: event => event.details,
    }),
  }),
})

const AuditEventConnection = definePage<AuditEvent>('AuditEvent', AuditEventRef, 'events of the audit log')

const AuditEventFilter = builder.inputType('AuditEventFilter', {
  description: 'Which events; all that is given must be so.',
  fields: t => ({
    userId: t.id({ description: 'Of who did it.' }),
    credentialId: t.id({ description: 'Of the session or API key that it was done with.' }),
    providerId: t.id({ description: 'Of the provider that it was about, or that something went to.' }),
    pathPrefix: t.string({
      description: 'A file or folder of `providerId`, with all below it.',
      // It narrows the answer, which holds nothing beyond what the credential reaches.
      ...notALocation,
    }),
    action: t.field({ type: AuditActionEnum, description: 'What was done.' }),
    result: t.string({ description: '`OK`, `CUT` or the `reason` of an error.' }),
    since: t.field({ type: 'DateTime', description: 'From then on.' }),
    until: t.field({ type: 'DateTime', description: 'Before then.' }),
  }),
})

const maxPage = 200

builder.queryField('auditEvents', t =>
  t.field({
    type: AuditEventConnection,
    description:
      'The audit log, the newest first. A credential without access to everything sees only what happened in locations that it reaches.',
    authScopes: { scope: 'admin' },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `How many at most, 1 to ${maxPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page begins.' }),
      filter: t.arg({ type: AuditEventFilter, description: 'Which events; all unless it is given.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxPage),
    resolve: async (_root, { first, after, filter }, { services, viewer }) => {
      const page = await services.audit.list(viewer, filter ?? {}, { first: first ?? 50, after })
      return {
        edges: page.items.map(({ event, cursor }) => ({ node: event, cursor })),
        hasNext: page.hasNext,
        hasPrevious: after != null,
      }
    },
  }),
)
