import { requireViewer } from '../../auth/viewer.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { ProviderAccessRef, type SeenMember, UserRef } from '../refs.ts'
import { definePage } from './page.ts'
import { ProviderAccessInput } from './provider-access.ts'
import { RoleEnum } from './role.ts'

UserRef.implement({
  description: 'A member of the workspace.',
  fields: t => ({
    id: t.id({ description: 'Stays the same for good.', resolve: ({ member }) => member.userId }),
    email: t.string({
      description: 'As typed at registration; case makes no difference.',
      resolve: u => u.member.email,
    }),
    name: t.string({ nullable: true, description: 'As people write it.', resolve: ({ member }) => member.name }),
    role: t.field({ type: RoleEnum, description: 'In this workspace.', resolve: ({ member }) => member.role }),
    providerAccess: t.field({
      type: ProviderAccessRef,
      description: 'Which providers the role can be used on.',
      resolve: ({ member, seenBy }) => ({ access: member.access, seenBy }),
    }),
    createdAt: t.field({
      type: 'DateTime',
      description: 'When the account was made.',
      resolve: ({ member }) => member.createdAt,
    }),
  }),
})

const UserConnection = definePage<SeenMember>('User', UserRef, 'members of the workspace')
const maxPage = 200

builder.queryFields(t => ({
  me: t.field({
    type: UserRef,
    description: 'The person whose credential the request carries.',
    authScopes: { credential: true },
    resolve: (_root, _args, { viewer }) => {
      const seenBy = requireViewer(viewer)
      return { member: seenBy.member, seenBy }
    },
  }),
  users: t.field({
    type: UserConnection,
    description: 'The members of the workspace in the order of joining.',
    authScopes: { scope: 'admin' },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `How many at most, 1 to ${maxPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page begins.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxPage),
    resolve: async (_root, { first, after }, { services, viewer }) => {
      const page = await services.members.list(viewer, { first: first ?? 50, after })
      return {
        edges: page.items.map(({ member, cursor }) => ({ node: { member, seenBy: viewer }, cursor })),
        hasNext: page.hasNext,
        hasPrevious: after != null,
      }
    },
  }),
}))

const UpdateMemberInput = builder.inputType('UpdateMemberInput', {
  description: 'What is left out stays as it is.',
  fields: t => ({
    userId: t.id({ required: true, description: 'Of the member.' }),
    role: t.field({ type: RoleEnum, description: 'At most your own.' }),
    providerAccess: t.field({ type: ProviderAccessInput, description: 'At most your own.' }),
  }),
})

builder.mutationFields(t => ({
  updateMember: t.field({
    type: UserRef,
    description: 'Gives another member a role or provider access; their keys shrink with them.',
    audit: 'MEMBER_UPDATE',
    authScopes: { scope: 'admin' },
    args: { input: t.arg({ type: UpdateMemberInput, required: true, description: 'Whom, and what to change.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      member: await services.members.update(viewer, input),
      seenBy: viewer,
    }),
  }),
  removeMember: t.boolean({
    description: 'Ends a membership, with its sessions and keys. True once it has ended.',
    audit: 'MEMBER_REMOVE',
    authScopes: { scope: 'admin' },
    args: { userId: t.arg.id({ required: true, description: 'Of the member.' }) },
    resolve: async (_root, { userId }, { services, viewer }) => {
      await services.members.remove(viewer, userId)
      return true
    },
  }),
}))
