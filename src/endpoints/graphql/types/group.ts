import { maxGroupRestrictions, maxGroupsPage } from '../../../services/people/groups.ts'
import { builder } from '../builder.ts'
import { connectionCost } from '../cost.ts'
import { GroupRef, ProviderAccessRef, UserRef, type VisibleGroup } from '../refs.ts'
import { definePage, toPage } from './page.ts'
import { ProviderAccessInput, RoleEnum } from './provider-access.ts'

GroupRef.implement({
  description: 'A group of members. Its role and provider access add to those of each member.',
  fields: t => ({
    id: t.id({ description: 'The permanent ID of the group.', resolve: ({ group }) => group.id }),
    name: t.string({ description: 'The name, unique in the workspace.', resolve: ({ group }) => group.name }),
    role: t.field({
      type: RoleEnum,
      description:
        'The role of the members, unless another of their roles is stronger. With NONE, the group gives nothing.',
      resolve: ({ group }) => group.role,
    }),
    providerAccess: t.field({
      type: ProviderAccessRef,
      description: 'The providers that the group adds to those of its members.',
      resolve: ({ group, seenBy }) => ({ access: group.access, seenBy }),
    }),
    memberCount: t.int({
      nullable: true,
      description: 'The number of members; null for those who do not administer the whole workspace.',
      authScopes: { public: true },
      resolve: ({ group }, _args, { services, viewer }) => services.groups.memberCount(viewer, group),
    }),
  }),
})

const GroupConnection = definePage<VisibleGroup>('Group', GroupRef, 'groups of the workspace')

builder.queryField('groups', t =>
  t.field({
    type: GroupConnection,
    description: 'Returns the groups of the workspace in the order of their names.',
    authScopes: { workspace: 'admin' },
    args: {
      first: t.arg.int({ defaultValue: 50, description: `The maximum number of groups, 1 to ${maxGroupsPage}.` }),
      after: t.arg.string({ description: 'The cursor after which the page starts.' }),
    },
    complexity: ({ first }) => connectionCost(first, maxGroupsPage),
    resolve: async (_root, { first, after }, { services, viewer }) => {
      const page = await services.groups.list(viewer, { first: first ?? 50, after })
      return toPage(page, after, ({ group }) => ({ group, seenBy: viewer }))
    },
  }),
)

const CreateGroupPayload = builder.objectRef<VisibleGroup>('CreateGroupPayload').implement({
  description: 'A new group.',
  fields: t => ({
    group: t.field({ type: GroupRef, description: 'The group, without members.', resolve: created => created }),
  }),
})

const accessDescription = `with at most ${maxGroupRestrictions} restrictions`

const CreateGroupInput = builder.inputType('CreateGroupInput', {
  description: 'The name, role and provider access of a new group.',
  fields: t => ({
    name: t.string({ required: true, description: 'The name, with 1 to 200 characters, unique in the workspace.' }),
    role: t.field({ type: RoleEnum, required: true, description: 'The role, at most your own and not OWNER.' }),
    providerAccess: t.field({
      type: ProviderAccessInput,
      description: `The provider access, ${accessDescription}. The default is all providers.`,
    }),
  }),
})

const UpdateGroupInput = builder.inputType('UpdateGroupInput', {
  description: 'Changes to a group. Omitted fields do not change.',
  fields: t => ({
    id: t.id({ required: true, description: 'The ID of the group.' }),
    name: t.string({ description: 'The new name, with 1 to 200 characters.' }),
    role: t.field({ type: RoleEnum, description: 'The new role, at most your own and not OWNER.' }),
    providerAccess: t.field({
      type: ProviderAccessInput,
      description: `The new provider access, ${accessDescription}.`,
    }),
  }),
})

const CreateServiceAccountInput = builder.inputType('CreateServiceAccountInput', {
  description: 'The name, role and provider access of a new service account.',
  fields: t => ({
    name: t.string({
      required: true,
      description: 'The name, with 1 to 200 characters, unique among the service accounts.',
    }),
    role: t.field({ type: RoleEnum, required: true, description: 'The role, at most your own and not OWNER.' }),
    providerAccess: t.field({
      type: ProviderAccessInput,
      description: 'The provider access. The default is all providers.',
    }),
  }),
})

builder.mutationFields(t => ({
  createGroup: t.field({
    type: CreateGroupPayload,
    description: 'Creates a group without members.',
    audit: 'GROUP_CREATE',
    authScopes: { workspace: 'admin', recent: true },
    args: { input: t.arg({ type: CreateGroupInput, required: true, description: 'The group.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      group: await services.groups.create(viewer, input),
      seenBy: viewer,
    }),
  }),
  updateGroup: t.field({
    type: GroupRef,
    description: 'Changes a group, and with it the rights of its members and their API keys.',
    audit: 'GROUP_UPDATE',
    authScopes: { workspace: 'admin', recent: true },
    args: { input: t.arg({ type: UpdateGroupInput, required: true, description: 'The group and the changes.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      group: await services.groups.update(viewer, input),
      seenBy: viewer,
    }),
  }),
  deleteGroup: t.field({
    type: GroupRef,
    description:
      'Deletes a group. Its members stay, and lose what only the group gave them. Returns the group as it was.',
    audit: 'GROUP_DELETE',
    authScopes: { workspace: 'admin', recent: true },
    args: { id: t.arg.id({ required: true, description: 'The ID of the group.' }) },
    resolve: async (_root, { id }, { services, viewer }) => ({
      group: await services.groups.delete(viewer, id),
      seenBy: viewer,
    }),
  }),
  addGroupMember: t.field({
    type: GroupRef,
    description:
      'Adds a member, whose role is at most your own, to a group. Nothing changes if they are in it already.',
    audit: 'GROUP_MEMBER_ADD',
    authScopes: { workspace: 'admin', recent: true },
    args: {
      groupId: t.arg.id({ required: true, description: 'The ID of the group.' }),
      userId: t.arg.id({ required: true, description: 'The user ID of the member.' }),
    },
    resolve: async (_root, { groupId, userId }, { services, viewer }) => ({
      group: await services.groups.addMember(viewer, groupId, userId),
      seenBy: viewer,
    }),
  }),
  removeGroupMember: t.field({
    type: GroupRef,
    description: 'Removes a member from a group. They lose what only the group gave them, also in running transfers.',
    audit: 'GROUP_MEMBER_REMOVE',
    authScopes: { workspace: 'admin', recent: true },
    args: {
      groupId: t.arg.id({ required: true, description: 'The ID of the group.' }),
      userId: t.arg.id({ required: true, description: 'The user ID of the member.' }),
    },
    resolve: async (_root, { groupId, userId }, { services, viewer }) => ({
      group: await services.groups.removeMember(viewer, groupId, userId),
      seenBy: viewer,
    }),
  }),
  createServiceAccount: t.field({
    type: UserRef,
    description:
      'Creates a member that is a program. It cannot sign in: create API keys for it with `createApiKey`. They stay valid when the administrator leaves.',
    audit: 'SERVICE_ACCOUNT_CREATE',
    authScopes: { workspace: 'admin', recent: true },
    args: { input: t.arg({ type: CreateServiceAccountInput, required: true, description: 'The service account.' }) },
    resolve: async (_root, { input }, { services, viewer }) => ({
      member: await services.serviceAccounts.create(viewer, input),
      seenBy: viewer,
    }),
  }),
  renameServiceAccount: t.field({
    type: UserRef,
    description: 'Renames a service account. Its keys stay valid.',
    audit: 'SERVICE_ACCOUNT_RENAME',
    authScopes: { workspace: 'admin' },
    args: {
      userId: t.arg.id({ required: true, description: 'The user ID of the service account.' }),
      name: t.arg.string({ required: true, description: 'The new name, unique among the service accounts.' }),
    },
    resolve: async (_root, { userId, name }, { services, viewer }) => ({
      member: await services.serviceAccounts.rename(viewer, userId, name),
      seenBy: viewer,
    }),
  }),
}))
