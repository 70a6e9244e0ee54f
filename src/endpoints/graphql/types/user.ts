import { includedScopes } from '../../../auth/scopes.ts'
import { type Member, type Permissions, requireViewer, type Viewer } from '../../../auth/viewer.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { ProviderAccessRef, type SeenMember, UserRef } from '../refs.ts'
import { definePage, toPage } from './page.ts'
import { ProviderAccessInput } from './provider-access.ts'
import { RoleEnum } from './role.ts'
import { ScopeEnum } from './scope.ts'

UserRef.implement({
  description: 'A member of the workspace.',
  fields: t => ({
    id: t.id({ description: 'The permanent ID of the user.', resolve: ({ member }) => member.userId }),
    email: t.string({
      description: 'The email address as typed at registration. Case-insensitive.',
      resolve: u => u.member.email,
    }),
    name: t.string({ nullable: true, description: 'The display name.', resolve: ({ member }) => member.name }),
    role: t.field({ type: RoleEnum, description: 'The role in this workspace.', resolve: ({ member }) => member.role }),
    providerAccess: t.field({
      type: ProviderAccessRef,
      description: 'The providers on which the role can be used.',
      resolve: ({ member, seenBy }) => ({ access: member.access, seenBy }),
    }),
    createdAt: t.field({
      type: 'DateTime',
      description: 'The time of registration.',
      resolve: ({ member }) => member.createdAt,
    }),
  }),
})

const UserConnection = definePage<SeenMember>('User', UserRef, 'members of the workspace')
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
    },
    complexity: ({ first }) => connectionCost(first, maxPage),
    resolve: async (_root, { first, after }, { services, viewer }) => {
      const page = await services.members.list(viewer, { first: first ?? 50, after })
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
    role: t.field({ type: RoleEnum, description: 'The new role, at most your own.' }),
    providerAccess: t.field({ type: ProviderAccessInput, description: 'The new provider access.' }),
  }),
})

builder.mutationFields(t => ({
  updateMember: t.field({
    type: UserRef,
    description: 'Changes the role or provider access of another member. Their API keys are limited accordingly.',
    audit: 'MEMBER_UPDATE',
    authScopes: { workspace: 'admin' },
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
    authScopes: { session: true, workspace: 'admin' },
    args: { userId: t.arg.id({ required: true, description: 'The user ID of the member.' }) },
    resolve: (_root, { userId }, { services, viewer }) => services.passwordResets.create(viewer, userId),
  }),
  removeMember: t.boolean({
    description: 'Removes a member and ends their sessions and API keys. Returns true.',
    audit: 'MEMBER_REMOVE',
    authScopes: { workspace: 'admin' },
    args: { userId: t.arg.id({ required: true, description: 'The user ID of the member.' }) },
    resolve: async (_root, { userId }, { services, viewer }) => {
      await services.members.remove(viewer, userId)
      return true
    },
  }),
}))
