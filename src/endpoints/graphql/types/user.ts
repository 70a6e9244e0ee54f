import { includedScopes } from '../../../auth/scopes.ts'
import { type Member, type Permissions, requireViewer, type Viewer } from '../../../auth/viewer.ts'
import { builder } from '../builder.ts'
import { connectionCost, groupsCost } from '../cost.ts'
import {
  ApiKeyRef,
  GroupRef,
  ProviderAccessRef,
  UserRef,
  ViewerRef,
  type VisibleMember,
  WorkspaceRef,
} from '../refs.ts'
import { definePage, toPage } from './page.ts'
import { ProviderAccessInput, RoleEnum, ScopeEnum } from './provider-access.ts'

const DirectoryKindEnum = builder.enumType('DirectoryKind', {
  description: 'The kinds of directories.',
  values: {
    LDAP: { description: 'The LDAP directory of the server, in which people have their passwords.' },
    SCIM: { description: 'A directory that uses SCIM, such as Microsoft Entra or Okta.' },
  } as const,
})

UserRef.implement({
  description: 'A member of the workspace.',
  fields: t => ({
    id: t.id({ description: 'The permanent ID of the user.', resolve: ({ member }) => member.userId }),
    email: t.string({
      description:
        'The email address as typed at registration. Case-insensitive. For a service account, an address that gets no mail.',
      resolve: u => u.member.email,
    }),
    name: t.string({ nullable: true, description: 'The display name.', resolve: ({ member }) => member.name }),
    language: t.string({
      nullable: true,
      description: 'The tag of the language that you have chosen; null for that of the browser, and for other members.',
      resolve: ({ member, seenBy }) => (member.userId === seenBy?.member.userId ? member.language : null),
    }),
    getsMentions: t.boolean({
      nullable: true,
      description: 'Whether you get an email when a comment mentions you; null for other members.',
      resolve: ({ member, seenBy }) => (member.userId === seenBy?.member.userId ? member.getsMentions : null),
    }),
    role: t.field({
      type: RoleEnum,
      description: 'The role in this workspace, without what groups add.',
      resolve: ({ member }) => member.own.role,
    }),
    providerAccess: t.field({
      type: ProviderAccessRef,
      description: 'The providers on which the role can be used, without what groups add.',
      resolve: ({ member, seenBy }) => ({ access: member.own.access, seenBy }),
    }),
    groups: t.field({
      type: [GroupRef],
      description: 'The groups of the member, in the order of their names.',
      complexity: groupsCost,
      resolve: ({ member, seenBy }) => member.groups.map(group => ({ group, seenBy })),
    }),
    effectiveRole: t.field({
      type: RoleEnum,
      description: 'The strongest of the own role and those of the groups.',
      resolve: ({ member }) => member.role,
    }),
    isServiceAccount: t.boolean({
      description: 'Whether the member is a program, which has API keys and never signs in.',
      resolve: ({ member }) => member.isService,
    }),
    directory: t.field({
      type: DirectoryKindEnum,
      nullable: true,
      description:
        'The directory that manages the account, or null. Only for those who administer the whole workspace.',
      authScopes: { public: true },
      resolve: async ({ member }, _args, { services, viewer }) =>
        (await services.directories.directoryOf(viewer, member))?.kind ?? null,
    }),
    directoryName: t.string({
      nullable: true,
      description:
        'The name of the directory that manages the account, or null. Only for those who administer the whole workspace.',
      authScopes: { public: true },
      resolve: async ({ member }, _args, { services, viewer }) =>
        (await services.directories.directoryOf(viewer, member))?.name ?? null,
    }),
    issuedGroupIds: t.field({
      type: ['ID'],
      description:
        'The IDs of the groups that an issuer or a directory has named, and alone ends. Only for those who administer the whole workspace.',
      authScopes: { public: true },
      resolve: async ({ member }, _args, { services, viewer }) => [
        ...(await services.directories.issuedGroupsOf(viewer, member)),
      ],
    }),
    deactivatedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'The time since which all credentials of the member are refused, or null for a member who is active.',
      resolve: ({ member }) => member.deactivatedAt,
    }),
    createdAt: t.field({
      type: 'DateTime',
      description: 'The time of registration.',
      resolve: ({ member }) => member.createdAt,
    }),
  }),
})

const UserConnection = definePage<VisibleMember>('User', UserRef, 'members of the workspace')
const maxPage = 200

builder.queryFields(t => ({
  me: t.field({
    type: UserRef,
    description: 'Returns the person whom the credential belongs to.',
    authScopes: { credential: true },
    resolve: (_root, _args, { viewer }) => {
      const seenBy = requireViewer(viewer)
      return { member: seenBy.member, seenBy }
    },
  }),
  users: t.field({
    type: UserConnection,
    description: 'Returns the members of the workspace in the order in which they joined.',
    authScopes: { workspace: 'admin' },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of members, 1 to ${maxPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
      groupId: t.arg.id({ description: 'Only the members of this group.' }),
      serviceAccounts: t.arg.boolean({
        description: 'Whether to return only service accounts, or only people. The default is both.',
      }),
      owners: t.arg.boolean({
        description: 'Whether to return only owners, or only the others. The default is both.',
      }),
      singleSignOn: t.arg.boolean({
        description:
          'Whether to return only those who can use single sign-on, or only those who cannot: no enabled issuer and no LDAP directory has an account of theirs. The default is both.',
      }),
    },
    complexity: ({ first }) => connectionCost(first, maxPage),
    resolve: async (_root, { first, after, groupId, serviceAccounts, owners, singleSignOn }, { services, viewer }) => {
      const filter = { groupId, isService: serviceAccounts, isOwner: owners, hasIdentity: singleSignOn }
      const page = await services.members.list(viewer, { first: first ?? 50, after }, filter)
      return toPage(page, after, ({ member }) => ({ member, seenBy: viewer }))
    },
  }),
}))

const MemberView = builder
  .objectRef<{ member: Member; permissions: Permissions; seenBy: Viewer | null }>('MemberView')
  .implement({
    description: 'The access of a member, without the providers and paths that you cannot access.',
    fields: t => ({
      user: t.field({
        type: UserRef,
        description: 'The member.',
        resolve: ({ member, seenBy }) => ({ member, seenBy }),
      }),
      scopes: t.field({
        type: [ScopeEnum],
        description: "All scopes of the member's role.",
        resolve: ({ permissions }) => includedScopes(permissions.scope),
      }),
      providerAccess: t.field({
        type: ProviderAccessRef,
        description:
          'The providers and folders in which the member has these scopes. A member with the role NONE has none.',
        resolve: ({ permissions, seenBy }) => ({ access: permissions.access, seenBy }),
      }),
    }),
  })

builder.mutationField('viewMember', t =>
  t.field({
    type: MemberView,
    description:
      'Returns what a member can access and do. It shows no files and lets nobody act as the member. It is a mutation because the audit log records each call.',
    audit: 'MEMBER_VIEW',
    authScopes: { workspace: 'admin' },
    args: { userId: t.arg.id({ required: true, description: 'The user ID of the member.' }) },
    resolve: async (_root, { userId }, { services, viewer }) => ({
      ...(await services.members.view(viewer, userId)),
      seenBy: viewer,
    }),
  }),
)

const CreatePasswordResetPayload = builder
  .objectRef<{ token: string; expiresAt: Date }>('CreatePasswordResetPayload')
  .implement({
    description: 'A way for a member to set a new password.',
    fields: t => ({
      token: t.exposeString('token', {
        description: 'The token for `resetPassword`, which works once. It is not shown again.',
      }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The time at which the token expires.' }),
    }),
  })

const UpdateMemberInput = builder.inputType('UpdateMemberInput', {
  description: 'Changes to a member. Omitted fields do not change.',
  fields: t => ({
    userId: t.id({ required: true, description: 'The user ID of the member.' }),
    role: t.field({
      type: RoleEnum,
      description: 'The new role, at most your own. Groups may still give a higher one.',
    }),
    providerAccess: t.field({ type: ProviderAccessInput, description: 'The new provider access.' }),
  }),
})

builder.mutationFields(t => ({
  updateMember: t.field({
    type: UserRef,
    description: 'Changes the role or provider access of another member. Their API keys are limited accordingly.',
    audit: 'MEMBER_UPDATE',
    authScopes: { workspace: 'admin', recent: true },
    args: { input: t.arg({ type: UpdateMemberInput, required: true, description: 'The member and the changes.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      member: await services.members.update(viewer, input),
      seenBy: viewer,
    }),
  }),
  createPasswordReset: t.field({
    type: CreatePasswordResetPayload,
    description:
      'Creates a token with which another member, whose role is at most your own, sets a new password. An earlier token of the member ends.',
    audit: 'PASSWORD_RESET_CREATE',
    authScopes: { session: true, workspace: 'admin', recent: true },
    args: { userId: t.arg.id({ required: true, description: 'The user ID of the member.' }) },
    resolve: (_root, { userId }, { services, viewer }) => services.passwordResets.create(viewer, userId),
  }),
  deactivateMember: t.field({
    type: UserRef,
    description:
      'Deactivates another member: ends their sessions, and refuses their API keys and share links until `reactivateMember`. Everything they own stays.',
    audit: 'MEMBER_DEACTIVATE',
    authScopes: { workspace: 'admin', recent: true },
    args: { userId: t.arg.id({ required: true, description: 'The user ID of the member.' }) },
    resolve: async (_root, { userId }, { services, viewer }) => ({
      member: await services.members.deactivate(viewer, userId),
      seenBy: viewer,
    }),
  }),
  reactivateMember: t.field({
    type: UserRef,
    description:
      'Ends the deactivation of a member. Their API keys and share links work again; sessions that ended do not.',
    audit: 'MEMBER_REACTIVATE',
    authScopes: { workspace: 'admin', recent: true },
    args: { userId: t.arg.id({ required: true, description: 'The user ID of the member.' }) },
    resolve: async (_root, { userId }, { services, viewer }) => ({
      member: await services.members.reactivate(viewer, userId),
      seenBy: viewer,
    }),
  }),
  removeMember: t.boolean({
    description: 'Removes a member and ends their sessions and API keys. Returns true.',
    audit: 'MEMBER_REMOVE',
    authScopes: { workspace: 'admin', recent: true },
    args: { userId: t.arg.id({ required: true, description: 'The user ID of the member.' }) },
    resolve: async (_root, { userId }, { services, viewer }) => {
      await services.members.remove(viewer, userId)
      return true
    },
  }),
}))

export const CredentialKind = builder.enumType('CredentialKind', {
  description: 'The kinds of credentials.',
  values: {
    SESSION: { description: 'A session JWT, from `login` or `register`.' },
    API_KEY: { description: 'An API key, from `createApiKey`.' },
    SHARE: { description: 'A share link, from `createShare`. It is no credential of this API.' },
    SCIM_TOKEN: {
      description:
        'A token of a directory, from `createScimToken`. It is no credential of this API, and stands for no member.',
    },
  } as const,
})

ViewerRef.implement({
  description: 'The credential of a request, limited to what its owner can access today.',
  fields: t => ({
    kind: t.expose('kind', { type: CredentialKind, description: 'The kind of the credential.' }),
    user: t.field({
      type: UserRef,
      description: 'The owner of the credential.',
      resolve: viewer => ({ member: viewer.member, seenBy: viewer }),
    }),
    workspace: t.field({
      type: WorkspaceRef,
      description: 'The workspace that the credential belongs to.',
      authScopes: { credential: true },
      resolve: (viewer, _args, { services }) => services.workspaces.get(viewer),
    }),
    scopes: t.field({
      type: [ScopeEnum],
      description: "All scopes of the credential, limited by the owner's role.",
      resolve: viewer => includedScopes(viewer.scope),
    }),
    providerAccess: t.field({
      type: ProviderAccessRef,
      description: "The providers that the credential can access, limited by the owner's access.",
      resolve: viewer => ({ access: viewer.access, seenBy: viewer }),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which the credential expires, or null if it does not.',
    }),
    needsSecondFactor: t.exposeBoolean('lacksSecondFactor', {
      description:
        'Whether the workspace requires a second factor that this session lacks. It has no rights until `confirmIdentity`, `addTotp` or `addPasskey` gives it one.',
    }),
    apiKey: t.field({
      type: ApiKeyRef,
      nullable: true,
      description: 'The API key, or null for a session.',
      authScopes: { credential: true },
      resolve: (viewer, _args, { services }) => services.apiKeys.own(viewer),
    }),
  }),
})

builder.queryField('viewer', t =>
  t.field({
    type: ViewerRef,
    description: 'Returns what the credential of this request may do.',
    authScopes: { credential: true },
    resolve: (_root, _args, { viewer }) => requireViewer(viewer),
  }),
)
