import type { ApprovalKind, Registration, UploadSource } from '../../../db/schema.ts'
import type { Branding } from '../../../db/workspaces.ts'
import { languages } from '../../../lib/languages.ts'
import { maxBrandText, maxLogo } from '../../../services/people/branding.ts'
import { maxIssuers } from '../../../services/people/issuers.ts'
import { maxPasswordOwners } from '../../../services/people/password-policy.ts'
import type { Installation } from '../../../services/people/workspaces.ts'
import { builder } from '../builder.ts'
import { WorkspaceRef } from '../refs.ts'
import { RoleEnum } from './provider-access.ts'

const registrations: Record<Registration, { description: string }> = {
  OPEN: { description: 'Anyone can register. They have no access until an administrator gives them a role.' },
  INVITE: { description: 'Only people with an invite can register.' },
  CLOSED: { description: 'No one can register.' },
}

export const RegistrationEnum = builder.enumType('Registration', {
  description: 'Who can become a member by registering.',
  values: registrations,
})

const approvalKinds: Record<ApprovalKind, { description: string }> = {
  DELETION: { description: 'Deleting a file or a folder.' },
  OVERWRITE: { description: 'Replacing a file or a folder.' },
}

export const ApprovalKindEnum = builder.enumType('ApprovalKind', {
  description: 'What a call through MCP does that can need the approval of a person.',
  values: approvalKinds,
})

const uploadSources: Record<UploadSource, { description: string }> = {
  DROP_LINKS: { description: 'Recipients of share links that add files.' },
  API_KEYS: { description: 'API keys, also over WebDAV, S3 and MCP, and connected applications.' },
  SESSIONS: { description: 'People who are signed in, as in the console.' },
}

export const UploadSourceEnum = builder.enumType('UploadSource', {
  description: 'Where uploads come from.',
  values: uploadSources,
})

const BrandingType = builder.objectRef<Branding>('Branding').implement({
  description: 'How the workspace looks on pages that people see without an account.',
  fields: t => ({
    color: t.exposeString('color', {
      nullable: true,
      description: 'A color, such as #2f55d4, or null for that of the product.',
    }),
    text: t.exposeString('text', { description: 'A line of text; empty without one.' }),
    logoUrl: t.string({
      nullable: true,
      description: 'The address of the logo, which needs no credential, or null without one.',
      authScopes: { public: true },
      resolve: ({ logoVersion }, _args, { baseUrl }) => logoVersion && `${baseUrl}/api/logo?version=${logoVersion}`,
    }),
  }),
})

WorkspaceRef.implement({
  description: 'The workspace that members, API keys and providers belong to.',
  fields: t => ({
    id: t.exposeID('id', { description: 'The permanent ID of the workspace.' }),
    name: t.exposeString('name', { description: 'The display name.' }),
    registration: t.expose('registration', { type: RegistrationEnum, description: 'Who can register.' }),
    secondFactorRoles: t.expose('secondFactorRoles', {
      type: [RoleEnum],
      description: 'The roles whose members need a second factor.',
    }),
    approvals: t.expose('approvals', {
      type: [ApprovalKindEnum],
      description: 'What a person has to approve if an agent does it through MCP.',
    }),
    scannedUploads: t.expose('scannedUploads', {
      type: [UploadSourceEnum],
      description: 'Whose uploads are scanned for malware before they become visible, if `hasScanner` is true.',
    }),
    hasScanner: t.boolean({
      description: 'Whether the server has a virus scanner.',
      authScopes: { public: true },
      resolve: (_workspace, _args, { services }) => services.scans.isAvailable,
    }),
    passwordOwners: t.field({
      type: ['ID'],
      nullable: true,
      description:
        'The user IDs of the owners who may sign in with a password or a passkey while all others need single sign-on; null if everybody may, and for those who do not administer the whole workspace.',
      authScopes: { public: true },
      resolve: (workspace, _args, { services, viewer }) => services.workspaces.passwordOwners(viewer, workspace),
    }),
    sendsEmail: t.boolean({
      description: 'Whether the server sends email about shares.',
      authScopes: { public: true },
      resolve: (_workspace, _args, { services }) => services.shares.sendsEmail,
    }),
    branding: t.expose('branding', { type: BrandingType, description: 'The look of the public pages.' }),
    language: t.exposeString('language', {
      nullable: true,
      description: 'The tag of the language for people who have chosen none, or null for English.',
    }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      description: 'The time at which the first person registered.',
    }),
  }),
})

const UpdateWorkspaceInput = builder.inputType('UpdateWorkspaceInput', {
  description: 'Changes to the workspace. Omitted fields do not change; at least one is required.',
  fields: t => ({
    name: t.string({ description: 'The new name, with 1 to 200 characters.' }),
    registration: t.field({ type: RegistrationEnum, description: 'Who can register from now on.' }),
    secondFactorRoles: t.field({
      type: [RoleEnum],
      description:
        'The roles whose members need a second factor from now on. Their sessions without one can do nothing but add or give one. API keys need none.',
    }),
    approvals: t.field({
      type: [ApprovalKindEnum],
      description:
        'What a person has to approve from now on if an agent does it through MCP; an empty list for nothing.',
    }),
    scannedUploads: t.field({
      type: [UploadSourceEnum],
      description:
        'Whose uploads are scanned for malware from now on, if `Workspace.hasScanner` is true; an empty list for nobody.',
    }),
    singleSignOnOnly: t.boolean({
      description:
        'Whether only `passwordOwners` may sign in with a password or a passkey, which only an owner can decide, in a session. Sessions of others that began with one end.',
    }),
    language: t.string({
      description: `The tag of the language of emails to people who have chosen none, and of pages for browsers that ask for none of ${languages.join(', ')}. An empty text is English.`,
    }),
    brandColor: t.string({
      description: 'The color of the public pages, such as #2f55d4. An empty text returns to that of the product.',
    }),
    brandText: t.string({
      description: `A line of text on the public pages, of at most ${maxBrandText} characters; may be empty.`,
    }),
    logo: t.string({
      description: `The logo on the public pages: a PNG, JPEG or WebP file of at most ${maxLogo / 1024} KiB, in base64. An empty text removes it.`,
    }),
    passwordOwners: t.idList({
      description: `The user IDs of the owners, at most ${maxPasswordOwners}, who are the way back in. One of them needs access to all providers and a password.`,
    }),
  }),
})

builder.queryField('workspace', t =>
  t.field({
    type: WorkspaceRef,
    description: 'Returns the workspace that the credential belongs to.',
    authScopes: { credential: true },
    resolve: (_root, _args, { services, viewer }) => services.workspaces.get(viewer),
  }),
)

builder.mutationField('updateWorkspace', t =>
  t.field({
    type: WorkspaceRef,
    description: 'Changes the settings of the workspace.',
    audit: 'WORKSPACE_UPDATE',
    authScopes: { workspace: 'admin', recent: true },
    args: { input: t.arg({ type: UpdateWorkspaceInput, required: true, description: 'The changes.' }) },
    resolve: (_root, { input }, { services, viewer }) => services.workspaces.update(viewer, input),
  }),
)

const SingleSignOnIssuer = builder
  .objectRef<{ id: string; name: string; url: string }>('SingleSignOnIssuer')
  .implement({
    description: 'An OpenID Connect issuer with which people sign in.',
    fields: t => ({
      id: t.exposeID('id', { description: 'The ID of the issuer here.' }),
      name: t.exposeString('name', { description: 'Its name, or its host if the operator has set it.' }),
      url: t.exposeString('url', {
        description:
          'The address that sends a browser to the issuer. With the parameter `next`, it opens this page of the console afterwards.',
      }),
    }),
  })

const InstallationRef = builder.objectRef<Installation>('Installation').implement({
  description: 'Facts that a visitor needs before signing in.',
  fields: t => ({
    hasOwner: t.exposeBoolean('hasOwner', {
      description: 'False until the first person registers. That person owns the workspace.',
      authScopes: { public: true },
    }),
    needsSetupCode: t.exposeBoolean('needsSetupCode', {
      description: 'Whether the first person to register needs the code that the operator has set.',
      authScopes: { public: true },
    }),
    registration: t.expose('registration', {
      type: RegistrationEnum,
      description: 'Who can register.',
      authScopes: { public: true },
    }),
    hasDirectory: t.boolean({
      description: 'Whether people also sign in with a name and their password of an LDAP directory.',
      authScopes: { public: true },
      resolve: (_installation, _args, { services }) => services.directory !== null,
    }),
    sendsPasswordResets: t.boolean({
      description: 'Whether people can ask for an email with a link for a new password with `requestPasswordReset`.',
      authScopes: { public: true },
      resolve: (_installation, _args, { services }) => services.passwordResets.sendsLinks,
    }),
    singleSignOnOnly: t.exposeBoolean('singleSignOnOnly', {
      description: 'Whether passwords and passkeys work for some owners only.',
      authScopes: { public: true },
    }),
    branding: t.expose('branding', {
      type: BrandingType,
      description: 'The look of the public pages.',
      authScopes: { public: true },
    }),
    language: t.exposeString('language', {
      nullable: true,
      description:
        'The tag of the language of pages for browsers that ask for none that the console has, or null for English.',
      authScopes: { public: true },
    }),
    singleSignOn: t.field({
      type: [SingleSignOnIssuer],
      description: 'The issuers with which people sign in.',
      authScopes: { public: true },
      complexity: () => ({ field: 1, multiplier: maxIssuers }),
      resolve: async (_installation, _args, { services, baseUrl }) =>
        (await services.singleSignOn.issuers()).map(({ id, name }) => ({
          id,
          name,
          url: `${baseUrl}/auth/oidc/start?issuer=${id}`,
        })),
    }),
  }),
})

builder.queryField('installation', t =>
  t.field({
    type: InstallationRef,
    description: 'Facts that a visitor needs before signing in.',
    authScopes: { public: true },
    resolve: (_root, _args, { services }) => services.workspaces.installation(),
  }),
)
